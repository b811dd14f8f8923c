//! USDC transfers on Base, observed.
