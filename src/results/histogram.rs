//! HDR histograms as they stand in `run.json`: V2, deflated, base64. The only door to the crate outside
//! the recorder.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use super::LatencySummary;

/// Why a histogram's text could not be read.
#[derive(Debug, thiserror::Error)]
pub enum DecodeHistogramError {
    /// The text is not base64.
    #[error("failed to read a histogram: it is not base64 ({0})")]
    Base64(#[from] base64::DecodeError),
    /// The bytes are not a histogram.
    #[error("failed to read a histogram: it is not HDR V2-deflate ({0})")]
    Deserialize(#[from] hdrhistogram::serialization::DeserializeError),
}

/// The histogram as text: HDR V2-deflate in base64.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    match V2DeflateSerializer::new().serialize(histogram, &mut bytes) {
        Ok(_) => STANDARD.encode(bytes),
        // Writing to memory does not fail, and a u64 count always fits the format.
        Err(_) => String::new(),
    }
}

/// The histogram that [`encode`] wrote; values in microseconds.
pub fn decode(text: &str) -> Result<Histogram<u64>, DecodeHistogramError> {
    let bytes = STANDARD.decode(text)?;
    Ok(Deserializer::new().deserialize(&mut bytes.as_slice())?)
}

/// The histogram in brief. What overflowed its range was counted by the recorder, not here.
pub fn summary(histogram: &Histogram<u64>) -> LatencySummary {
    if histogram.is_empty() {
        return LatencySummary::default();
    }
    let at = |quantile| histogram.value_at_quantile(quantile).min(histogram.max());
    LatencySummary {
        count: histogram.len(),
        min: histogram.min(),
        mean: histogram.mean(),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        max: histogram.max(),
        overflow: 0,
    }
}

/// Steps to each halving of the distance to 100 %, as HdrHistogram's own tools take them.
const TICKS_PER_HALVING: u32 = 5;

/// Percentiles as `.hgrm` text, the form that HdrHistogram's plotters read; values in microseconds.
pub fn percentiles_text(histogram: &Histogram<u64>) -> String {
    let mut text = String::from("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    let mut counted = 0;
    for step in histogram.iter_quantiles(TICKS_PER_HALVING) {
        counted += step.count_since_last_iteration();
        let quantile = step.quantile_iterated_to().min(1.0);
        let inverse = match quantile < 1.0 {
            true => format!("{:.2}", 1.0 / (1.0 - quantile)),
            false => "inf".to_owned(),
        };
        text.push_str(&format!(
            "{:>12}.000 {quantile:.12} {counted:>10} {inverse:>14}\n",
            step.value_iterated_to()
        ));
    }
    text.push_str(&format!(
        "#[Mean    = {:>12.3}, StdDeviation   = {:>12.3}]\n#[Max     = {:>12}, Total count    = {:>12}]\n",
        histogram.mean(),
        histogram.stdev(),
        histogram.max(),
        histogram.len()
    ));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_survives_its_text() {
        let mut histogram = Histogram::new(3).expect("three digits");
        for value in [0, 1, 310, 1_900, 65_000_000, 3_700_000_000] {
            histogram.record(value).expect("it resizes");
        }
        assert_eq!(decode(&encode(&histogram)).expect("just written"), histogram);
        assert!(decode("{").is_err());
        assert!(decode("AAAA").is_err());
    }
}
