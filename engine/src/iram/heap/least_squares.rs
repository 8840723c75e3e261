//! Least squares of few columns, by Householder reflections with column pivoting.
//!
//! Heaps stand still for minutes: then the columns of equation 5.1 are multiples of each other, and normal equations
//! divide by zero. Reflections do not square the condition of the data; a column that others explain is found by its
//! pivot and gets the coefficient 0 ([`Fit::rank`] says how many columns counted). So a fit of finite data is finite,
//! whatever the data. Source: Golub and Van Loan, Matrix Computations, 4th edition, 5.4.2 (QR with column pivoting).

use thiserror::Error;

/// A pivot below this share of its column's length is noise of the arithmetic.
const PIVOT_MIN: f64 = 1e-9;

/// Why nothing can be fitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Error {
    #[error("no sample to fit")]
    Empty,
    #[error("rows of different length")]
    Shape,
    #[error("a value that is no finite number")]
    NotFinite,
}

/// Coefficients that minimise the sum of squared errors.
#[derive(Debug, Clone, PartialEq)]
pub struct Fit {
    /// One for each column, in their order; 0 for a column that others explain.
    pub coefficients: Vec<f64>,
    /// Columns that count.
    pub rank: usize,
}

impl Fit {
    /// Whether some columns are sums of multiples of others, so that other coefficients fit as well.
    #[must_use]
    pub fn is_singular(&self) -> bool {
        self.rank < self.coefficients.len()
    }
}

/// Fits `rows` x coefficients to `targets`.
///
/// # Errors
/// Without rows, with rows of different length, or with a value that is not finite.
pub fn fit(rows: &[Vec<f64>], targets: &[f64]) -> Result<Fit, Error> {
    let width = rows.first().ok_or(Error::Empty)?.len();
    if rows.len() != targets.len() || rows.iter().any(|row| row.len() != width) {
        return Err(Error::Shape);
    }
    if !rows.iter().flatten().chain(targets).all(|value| value.is_finite()) {
        return Err(Error::NotFinite);
    }
    // By columns; each is scaled to length 1, so that one bound serves bytes and ratios, and no square overflows.
    let mut columns: Vec<Vec<f64>> = (0..width).map(|c| rows.iter().map(|row| row[c]).collect()).collect();
    let mut targets = targets.to_vec();
    let scales: Vec<f64> = columns.iter_mut().map(|column| scale(column)).collect();
    let target_scale = scale(&mut targets);
    let mut order: Vec<usize> = (0..width).collect();
    let mut rank = 0;
    while rank < width.min(rows.len()) {
        let rest = |c: &usize| columns[*c][rank..].iter().map(|x| x * x).sum::<f64>();
        let lengths = order[rank..].iter().map(rest).enumerate();
        let Some((best, square)) = lengths.max_by(|a, b| a.1.total_cmp(&b.1)) else { break };
        if square.sqrt() <= PIVOT_MIN {
            break;
        }
        order.swap(rank, rank + best);
        reflect(&mut columns, &mut targets, &order, rank);
        rank += 1;
    }
    let mut coefficients = vec![0.0; width];
    for k in (0..rank).rev() {
        let known: f64 = order[k + 1..rank].iter().map(|&c| columns[c][k] * coefficients[c]).sum();
        coefficients[order[k]] = (targets[k] - known) / columns[order[k]][k];
    }
    for (coefficient, scale) in coefficients.iter_mut().zip(scales) {
        if *coefficient != 0.0 {
            *coefficient *= target_scale / scale;
        }
    }
    // Columns of 1e-300 explain targets of 1e300 by no finite number.
    if coefficients.iter().all(|value| value.is_finite()) {
        Ok(Fit { coefficients, rank })
    } else {
        Err(Error::NotFinite)
    }
}

/// Divides a column by its length; returns that length, 0 for a column of zeros.
fn scale(column: &mut [f64]) -> f64 {
    let largest = column.iter().fold(0.0f64, |most, value| most.max(value.abs()));
    if largest == 0.0 {
        return 0.0;
    }
    let length = column.iter().map(|value| (value / largest).powi(2)).sum::<f64>().sqrt();
    column.iter_mut().for_each(|value| *value = *value / largest / length);
    largest * length
}

/// Reflects what is below `k` of the column `order[k]` to zero, and all columns after it and the targets alike.
fn reflect(columns: &mut [Vec<f64>], targets: &mut [f64], order: &[usize], k: usize) {
    let mut normal = columns[order[k]][k..].to_vec();
    let length = normal.iter().map(|x| x * x).sum::<f64>().sqrt();
    // Away from the axis, so that nothing cancels.
    normal[0] += length.copysign(normal[0]);
    let square = normal.iter().map(|x| x * x).sum::<f64>();
    let apply = |column: &mut [f64]| {
        let along = normal.iter().zip(&column[k..]).map(|(n, x)| n * x).sum::<f64>();
        column[k..].iter_mut().zip(&normal).for_each(|(x, n)| *x -= 2.0 * along / square * n);
    };
    order[k..].iter().for_each(|&c| apply(&mut columns[c]));
    apply(targets);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn near(found: &[f64], wanted: &[f64]) -> bool {
        found.len() == wanted.len() && found.iter().zip(wanted).all(|(a, b)| (a - b).abs() < 1e-9 * b.abs().max(1.0))
    }

    #[test]
    fn tables_by_hand() {
        // y = 1, 2, 2 at x = 1, 2, 3: the line through 2/3 with slope 1/2.
        let line = fit(&[vec![1.0, 1.0], vec![1.0, 2.0], vec![1.0, 3.0]], &[1.0, 2.0, 2.0]).expect("fits");
        assert!(near(&line.coefficients, &[2.0 / 3.0, 0.5]), "{line:?}");
        // One column: x.y / x.x = (1 + 4) / (1 + 4 + 4).
        let one = fit(&[vec![1.0], vec![2.0], vec![2.0]], &[1.0, 1.0, 1.0]).expect("fits");
        assert!(near(&one.coefficients, &[5.0 / 9.0]), "{one:?}");
        // As many rows as columns: solved exactly.
        let exact = fit(&[vec![2.0, 1.0], vec![1.0, 3.0]], &[5.0, 10.0]).expect("fits");
        assert!(near(&exact.coefficients, &[1.0, 3.0]) && !exact.is_singular(), "{exact:?}");
    }

    #[test]
    fn a_column_that_others_explain_is_named_and_gets_nothing() {
        // A heap that stands still.
        let still = fit(&vec![vec![7e7, 7e7, 7e7]; 20], &[7e7; 20]).expect("fits");
        assert_eq!(still.rank, 1);
        assert!(still.is_singular() && near(&[still.coefficients.iter().sum()], &[1.0]), "{still:?}");
        let zeros = fit(&vec![vec![0.0, 0.0]; 5], &[3.0; 5]).expect("fits");
        assert_eq!((zeros.rank, zeros.coefficients), (0, vec![0.0, 0.0]));
        let few_rows = fit(&[vec![1.0, 2.0, 4.0]], &[8.0]).expect("fits");
        assert_eq!((few_rows.rank, few_rows.coefficients), (1, vec![0.0, 0.0, 2.0]));
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        assert_eq!(fit(&[], &[]), Err(Error::Empty));
        assert_eq!(fit(&[vec![1.0], vec![1.0, 2.0]], &[1.0, 2.0]), Err(Error::Shape));
        assert_eq!(fit(&[vec![1.0]], &[1.0, 2.0]), Err(Error::Shape));
        assert_eq!(fit(&[vec![f64::NAN]], &[1.0]), Err(Error::NotFinite));
        assert_eq!(fit(&[vec![1.0]], &[f64::INFINITY]), Err(Error::NotFinite));
    }

    fn error_of(rows: &[Vec<f64>], targets: &[f64], coefficients: &[f64]) -> f64 {
        let of = |row: &Vec<f64>| row.iter().zip(coefficients).map(|(x, c)| x * c).sum::<f64>();
        rows.iter().zip(targets).map(|(row, y)| (of(row) - y).powi(2)).sum()
    }

    proptest! {
        #[test]
        fn no_other_coefficients_fit_better(
            rows in prop::collection::vec(prop::collection::vec(-1e3f64..1e3, 3), 1..30),
            targets in prop::collection::vec(-1e3f64..1e3, 30),
            change in prop::collection::vec(-1.0f64..1.0, 3),
        ) {
            let targets = &targets[..rows.len()];
            let found = fit(&rows, targets).expect("finite");
            let other: Vec<f64> = found.coefficients.iter().zip(&change).map(|(c, d)| c + d).collect();
            let best = error_of(&rows, targets, &found.coefficients);
            prop_assert!(best <= error_of(&rows, targets, &other) + 1e-6 * (1.0 + best));
        }

        #[test]
        fn a_fit_is_finite_or_refused_whatever_the_values(
            rows in prop::collection::vec(prop::collection::vec(any::<f64>(), 4), 0..12),
            targets in prop::collection::vec(any::<f64>(), 0..12),
        ) {
            if let Ok(found) = fit(&rows, &targets) {
                prop_assert!(found.coefficients.iter().all(|value| value.is_finite()));
                prop_assert!(found.rank <= 4);
            }
        }
    }
}
