//! Figures that every benchmark reports, and how a person reads them.

use serde::Serialize;

use super::cpu::Elapsed;

/// Times from sending to the answer.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Latency {
    pub(super) p50_us: u32,
    pub(super) p99_us: u32,
}

impl Latency {
    /// Of these times; zeros when there are none.
    pub(super) fn of(mut latencies_us: Vec<u32>) -> Latency {
        latencies_us.sort_unstable();
        let at = |share: f64| {
            let index = (latencies_us.len() as f64 * share) as usize;
            latencies_us.get(index).copied().unwrap_or_default()
        };
        Latency {
            p50_us: at(0.5),
            p99_us: at(0.99),
        }
    }

    pub(super) fn text(self) -> String {
        let ms = |us: u32| f64::from(us) / 1_000.0;
        format!(
            "p50 {:.1} ms, p99 {:.1} ms",
            ms(self.p50_us),
            ms(self.p99_us)
        )
    }
}

/// How fast something went.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Rate {
    pub(super) count: u64,
    pub(super) seconds: f64,
    pub(super) per_second: f64,
    /// CPU time of each, all threads together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cpu_us_each: Option<f64>,
}

impl Rate {
    pub(super) fn of(count: u64, elapsed: Elapsed) -> Rate {
        let seconds = elapsed.wall.as_secs_f64();
        Rate {
            count,
            seconds,
            per_second: count as f64 / seconds,
            cpu_us_each: elapsed
                .cpu
                .map(|cpu| cpu.as_secs_f64() * 1e6 / count.max(1) as f64),
        }
    }

    pub(super) fn text(&self, what: &str) -> String {
        let cpu = self
            .cpu_us_each
            .map_or_else(String::new, |us| format!(", {us:.1} µs of CPU each"));
        format!(
            "{} {what} a second ({} in {:.1} s{cpu})",
            thousands(self.per_second),
            thousands(self.count as f64),
            self.seconds
        )
    }
}

/// A whole number with its thousands apart.
pub(super) fn thousands(number: f64) -> String {
    let digits = format!("{number:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_stand_apart() {
        for (number, text) in [
            (0.0, "0"),
            (999.4, "999"),
            (1e3, "1,000"),
            (1_234_567.0, "1,234,567"),
        ] {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn percentiles_are_of_the_sorted_times() {
        let latency = Latency::of((1..=100).rev().collect());
        assert_eq!((latency.p50_us, latency.p99_us), (51, 100));
        assert_eq!(Latency::of(Vec::new()).p50_us, 0);
    }
}
