//! What the soak test and the processes that host its agents have to agree on.

/// What every provider does.
pub const TASK: &str = "echo";

/// What it gets for it, in USDC.
pub const PRICE: &str = "0.01";

/// The same with the fee, in micro-USDC.
pub const TOTAL_MICRO_USDC: u64 = 10_250;
