//! Figures read at the moment they are asked for, in the shape the encoder takes.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use std::fmt;
use x811_ledger::figures::Histogram;

/// The labels of one sample.
pub(super) type Labels = Vec<(&'static str, String)>;

/// All figures of one reading.
#[derive(Debug, Default)]
pub(super) struct Families(Vec<Family>);

#[derive(Debug)]
struct Family {
    name: &'static str,
    help: &'static str,
    samples: Samples,
}

#[derive(Debug)]
enum Samples {
    Counter(Vec<(Labels, f64)>),
    Gauge(Vec<(Labels, f64)>),
    Histogram {
        sum: f64,
        count: u64,
        buckets: Vec<(f64, u64)>,
    },
}

impl Families {
    /// A number that only grows.
    pub(super) fn counter(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.counters(name, help, vec![(Labels::new(), value)]);
    }

    /// Numbers that only grow, by label.
    pub(super) fn counters(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: Vec<(Labels, f64)>,
    ) {
        self.push(name, help, Samples::Counter(samples));
    }

    /// A number that comes and goes.
    pub(super) fn gauge(&mut self, name: &'static str, help: &'static str, value: f64) {
        self.gauges(name, help, vec![(Labels::new(), value)]);
    }

    /// Numbers that come and go, by label.
    pub(super) fn gauges(
        &mut self,
        name: &'static str,
        help: &'static str,
        samples: Vec<(Labels, f64)>,
    ) {
        self.push(name, help, Samples::Gauge(samples));
    }

    /// A distribution; `unit` is how many of the ledger's units make one that is shown.
    pub(super) fn histogram(
        &mut self,
        name: &'static str,
        help: &'static str,
        of: &Histogram,
        unit: f64,
    ) {
        let buckets: Vec<(f64, u64)> = of
            .buckets()
            .map(|(bound, count)| {
                (
                    bound.map_or(f64::INFINITY, |bound| float(bound) / unit),
                    count,
                )
            })
            .collect();
        let samples = Samples::Histogram {
            sum: float(of.sum()) / unit,
            count: buckets.iter().map(|(_, count)| count).sum(),
            buckets,
        };
        self.push(name, help, samples);
    }

    fn push(&mut self, name: &'static str, help: &'static str, samples: Samples) {
        self.0.push(Family {
            name,
            help,
            samples,
        });
    }
}

/// A count as metrics have it; beyond 2^53 the last digits are lost, and nobody reads them.
#[expect(clippy::cast_precision_loss, reason = "metrics are doubles")]
pub(super) fn float(count: u64) -> f64 {
    count as f64
}

impl Collector for Families {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        for family in &self.0 {
            let kind = match family.samples {
                Samples::Counter(_) => MetricType::Counter,
                Samples::Gauge(_) => MetricType::Gauge,
                Samples::Histogram { .. } => MetricType::Histogram,
            };
            let metric = encoder.encode_descriptor(family.name, family.help, None, kind)?;
            family.samples.encode(metric)?;
        }
        Ok(())
    }
}

impl Samples {
    fn encode(&self, mut metric: MetricEncoder<'_>) -> Result<(), fmt::Error> {
        match self {
            Samples::Counter(samples) => {
                for (labels, value) in samples {
                    labelled(&mut metric, labels, |metric| {
                        metric.encode_counter::<NoLabelSet, _, f64>(value, None)
                    })?;
                }
            }
            Samples::Gauge(samples) => {
                for (labels, value) in samples {
                    labelled(&mut metric, labels, |metric| metric.encode_gauge(value))?;
                }
            }
            Samples::Histogram {
                sum,
                count,
                buckets,
            } => metric.encode_histogram::<NoLabelSet>(*sum, *count, buckets, None)?,
        }
        Ok(())
    }
}

/// Without labels there are no braces.
fn labelled(
    metric: &mut MetricEncoder<'_>,
    labels: &Labels,
    encode: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    if labels.is_empty() {
        return encode(metric);
    }
    encode(&mut metric.encode_family(labels)?)
}
