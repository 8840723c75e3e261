//! The choice of p and q by K-fold cross-validation (dissertation 5.4.2).
//!
//! Of eleven traces of a minute, with a sample a second, one is the historical one; each of the other ten is paired
//! with it. A fold is one pair: its samples from max(p + 1, q) on are predicted by a model of the nine others. The root
//! of the mean squared error over all predicted samples (5.2) is the cell of table 5.2; the order with the least error
//! is chosen.
//!
//! The dissertation draws the historical trace at random; here the caller names it, so that the same data give the same
//! table. It does not say whether the errors of ten folds are averaged or pooled; they are pooled here: with folds of
//! equal length that is the root of the mean of their squares. With fewer traces there are fewer folds.
//!
//! The cells of table 5.2 are errors of different samples: an order with more values begins later, when the steepest
//! growth is over. So each cell has a second error, of the samples that all orders predict: from the fourth on.

use super::arx::{COMMON_SAMPLE, Model, Order, Pair};

/// K of the dissertation.
pub const FOLDS: usize = 10;
/// Traces of each app in the dissertation: the historical one, and a current one for each fold.
pub const TRACES: usize = FOLDS + 1;
/// Length of a trace in samples, one a second.
pub const TRACE_SAMPLES: usize = 60;

/// The error of one order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// p and q.
    pub order: Order,
    /// Equation 5.2; `None` where nothing can be predicted, as for p = q = 0.
    pub rmse: Option<f64>,
    /// The same from the fourth sample on.
    pub rmse_common: Option<f64>,
}

/// The errors of all orders: a table like 5.2.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// By p, then q.
    pub cells: Vec<Cell>,
}

impl Table {
    /// The order with the least error; the smaller one where two are equal.
    #[must_use]
    pub fn best(&self) -> Option<Cell> {
        self.least(|_| true)
    }

    /// The least error among some orders.
    #[must_use]
    pub fn least(&self, among: impl Fn(Order) -> bool) -> Option<Cell> {
        let cells = self.cells.iter().filter(|cell| cell.rmse.is_some() && among(cell.order));
        cells.min_by(|a, b| a.rmse.unwrap_or(f64::MAX).total_cmp(&b.rmse.unwrap_or(f64::MAX))).copied()
    }

    #[must_use]
    pub fn rmse(&self, order: Order) -> Option<f64> {
        self.cells.iter().find(|cell| cell.order == order)?.rmse
    }
}

/// The table for these traces, of which the one at `historical` is the earlier run of all others. `None` for fewer than
/// three traces: then no fold has another to learn from.
#[must_use]
pub fn cross_validate(traces: &[Vec<f64>], historical: usize) -> Option<Table> {
    let earlier = traces.get(historical)?;
    let others = traces.iter().enumerate().filter(|(n, _)| *n != historical);
    let pairs: Vec<Pair<'_>> = others.map(|(_, current)| Pair { current, historical: earlier }).collect();
    let folds = FOLDS.min(pairs.len());
    if folds < 2 {
        return None;
    }
    let cell = |order| {
        let [rmse, rmse_common] = errors(order, &pairs, folds);
        Cell { order, rmse, rmse_common }
    };
    Some(Table { cells: Order::all().map(cell).collect() })
}

/// Equation 5.2 over all folds, of all samples and of those from the fourth on. Pair n is in fold n modulo the number
/// of folds.
fn errors(order: Order, pairs: &[Pair<'_>], folds: usize) -> [Option<f64>; 2] {
    let mut squares: [Vec<f64>; 2] = Default::default();
    for fold in 0..folds {
        let of = |tested: bool| {
            let chosen = pairs.iter().enumerate().filter(move |(n, _)| (n % folds == fold) == tested);
            chosen.map(|(_, pair)| *pair).collect::<Vec<_>>()
        };
        let Ok(model) = Model::fit(order, &of(false)) else { return [None; 2] };
        for pair in of(true) {
            for (squares, first) in squares.iter_mut().zip([0, COMMON_SAMPLE - 1]) {
                squares
                    .extend(model.predictions_from(&pair, first).map(|(predicted, real)| (predicted - real).powi(2)));
            }
        }
    }
    squares.map(|squares| {
        let rmse = (squares.iter().sum::<f64>() / squares.len() as f64).sqrt();
        rmse.is_finite().then_some(rmse)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_by_hand() {
        // Three traces, two folds. p = 1, q = 0: each fold's model is a = sum y(t) y(t-1) / sum y(t-1)^2 of the
        // other's.
        let traces = vec![vec![1.0, 1.0, 1.0], vec![1.0, 2.0, 4.0], vec![2.0, 2.0, 2.0]];
        let table = cross_validate(&traces, 0).expect("three traces");
        // From [2, 2, 2] a = 1: errors of [1, 2, 4] are 1 and 2. From [1, 2, 4] a = 2: errors of [2, 2, 2] are 2 and 2.
        let wanted = ((1.0f64 + 4.0 + 4.0 + 4.0) / 4.0).sqrt();
        let found = table.rmse(Order { past: 1, historical: 0 }).expect("predicted");
        assert!((found - wanted).abs() < 1e-12, "{found}");
        // p = 0, q = 1 with u = 1: the mean of the other trace, 2 and 7/3; three samples each.
        let square = |a: f64, y: &[f64]| y.iter().map(|y| (a - y).powi(2)).sum::<f64>();
        let wanted = ((square(2.0, &traces[1]) + square(7.0 / 3.0, &traces[2])) / 6.0).sqrt();
        let found = table.rmse(Order { past: 0, historical: 1 }).expect("predicted");
        assert!((found - wanted).abs() < 1e-12, "{found}");
        assert_eq!(table.rmse(Order { past: 0, historical: 0 }), None);
        assert_eq!(table.cells.len(), 20);
        assert!(table.cells.iter().all(|cell| cell.rmse_common.is_none()), "no trace has a fourth sample");
        // With a fourth: from [2, 2, 2, 2] a = 1 errs by 4 there; from [1, 2, 4, 8] a = 2 by 2.
        let traces = vec![vec![1.0; 4], vec![1.0, 2.0, 4.0, 8.0], vec![2.0; 4]];
        let table = cross_validate(&traces, 0).expect("three traces");
        let cell = table.cells.iter().find(|cell| cell.order == Order { past: 1, historical: 0 }).expect("a cell");
        assert!((cell.rmse_common.expect("predicted") - 10.0f64.sqrt()).abs() < 1e-12, "{cell:?}");
    }

    #[test]
    fn two_traces_have_no_fold_to_learn_from() {
        let traces = vec![vec![1.0; 60]; 2];
        assert_eq!(cross_validate(&traces, 0), None);
        assert_eq!(cross_validate(&traces, 9), None, "there is no such trace");
        assert_eq!(cross_validate(&[], 0), None);
    }
}
