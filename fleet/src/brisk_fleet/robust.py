"""Statistics that a few liars do not move. Pure.

All quantities are positive and are compared on a logarithmic scale, where a device that is twice as fast is as far away
as one that is half as fast. Terms: a *model* has devices, a *class* has models; the *spread* of a model is its quartile
distance over 1.349, which is the standard deviation of a normal distribution.

- Outliers are values beyond `FENCE` spreads from the model's median (Hampel). They are counted and shown, and left out.
- The spread of a model of few devices is pooled with that of its class (Smyth 2004, empirical Bayes with
  `PRIOR_DEVICES`).
- Medians are shrunk to the class by how much of the difference between models is more than chance (DerSimonian and
  Laird 1986).
- A rank is a range: models whose intervals do not exclude each other share it.

Properties, each with a test: an interval of 95 % covers the true median in at least 93 % of models; with 20 % poisoned
submissions no median moves by more than 5 % where a model's devices differ as published ones do and it has at least 20.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

FENCE = 4.0
"""Distance from the median, in spreads, beyond which a value is an outlier."""

PRIOR_DEVICES = 8.0
"""Weight of the class's spread, in devices."""

DEVICES_MIN = 5
"""Fewest devices of a model with a rank."""

NORMAL_QUARTILES = 1.349
_MEDIAN_OVER_MEAN = (
    1.2533  # standard error of a median of n over that of a mean of n + 0.5: sqrt(pi / 2), within 1 % from n = 3 on
)
_SPREAD_MIN = 0.01
"""Least spread: repeated measurements of one device differ by a percent."""


@dataclass(frozen=True)
class Estimates:
    """One value for each model, on the original scale; ranks begin at 1, 0 is no rank."""

    median: Floats
    low: Floats
    high: Floats
    shrunk: Floats
    shrunk_low: Floats
    shrunk_high: Floats
    rank: npt.NDArray[np.int64]
    rank_low: npt.NDArray[np.int64]
    rank_high: npt.NDArray[np.int64]


def pooled_spread(spread: Floats, devices: Floats) -> Floats:
    """Spreads of models, pooled with the median spread of those that have enough devices; log scale."""
    enough = devices >= DEVICES_MIN
    prior = float(np.median(spread[enough])) if bool(enough.any()) else 0.3
    prior = max(prior, _SPREAD_MIN)
    variance = (PRIOR_DEVICES * prior**2 + (devices - 1.0) * spread**2) / (PRIOR_DEVICES + devices - 1.0)
    pooled: Floats = np.maximum(np.sqrt(variance), _SPREAD_MIN)
    return pooled


def between_variance(centre: Floats, error: Floats) -> tuple[float, float]:
    """Mean of a class and the variance of its models beyond chance (DerSimonian and Laird); log scale."""
    weight = 1.0 / error**2
    mean = float(np.sum(weight * centre) / np.sum(weight))
    if len(centre) < 2:
        return mean, 0.0
    q = float(np.sum(weight * (centre - mean) ** 2))
    scale = float(np.sum(weight) - np.sum(weight**2) / np.sum(weight))
    variance = max(0.0, (q - (len(centre) - 1)) / scale)
    weight = 1.0 / (error**2 + variance)
    return float(np.sum(weight * centre) / np.sum(weight)), variance


def estimate(
    median: Floats, lower_quartile: Floats, upper_quartile: Floats, devices: Floats, larger_is_better: bool
) -> Estimates:
    """Estimates for the models of one class, from their medians, quartiles and numbers of devices."""
    centre = np.log(median)
    # Quartiles of few values are nearer to each other than those of their distribution: by order statistics of the
    # normal one.
    few = 1.0 - 1.37 / np.maximum(devices, 2.0)
    spread = (np.log(upper_quartile) - np.log(lower_quartile)) / NORMAL_QUARTILES / few
    error = _MEDIAN_OVER_MEAN * pooled_spread(spread, devices) / np.sqrt(devices + 0.5)
    # Of Student's distribution: the spread is estimated from so many devices.
    reach = _t975(devices - 1.0 + PRIOR_DEVICES) * error
    mean, variance = between_variance(centre, error)
    keep = variance / (variance + error**2) if variance > 0 else np.zeros_like(error)
    shrunk = mean + keep * (centre - mean)
    shrunk_reach = _t975(devices - 1.0 + PRIOR_DEVICES) * np.sqrt(keep) * error
    rank, rank_low, rank_high = _ranks(shrunk, shrunk_reach, devices >= DEVICES_MIN, larger_is_better)
    return Estimates(
        median,
        np.exp(centre - reach),
        np.exp(centre + reach),
        np.exp(shrunk),
        np.exp(shrunk - shrunk_reach),
        np.exp(shrunk + shrunk_reach),
        rank,
        rank_low,
        rank_high,
    )


def _ranks(
    centre: Floats, reach: Floats, has_rank: npt.NDArray[np.bool_], larger_is_better: bool
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Place of each model among those with a rank, and the range of places that the intervals allow."""
    sign = -1.0 if larger_is_better else 1.0
    own = sign * centre
    best, worst = own - reach, own + reach
    ranks = [np.zeros(len(centre), dtype=np.int64) for _ in range(3)]
    ranked = np.flatnonzero(has_rank)
    for model in ranked:
        others = ranked[ranked != model]
        ranks[0][model] = 1 + int(np.sum(own[others] < own[model]))
        ranks[1][model] = 1 + int(np.sum(worst[others] < best[model]))
        ranks[2][model] = 1 + int(np.sum(best[others] <= worst[model]))
    return ranks[0], ranks[1], ranks[2]


def _t975(degrees: Floats) -> Floats:
    """The 97.5th percentile of Student's distribution (Cornish and Fisher's expansion; within 0.5 % from 4 degrees
    on)."""
    z = 1.959964
    first = (z**3 + z) / 4.0
    second = (5.0 * z**5 + 16.0 * z**3 + 3.0 * z) / 96.0
    third = (3.0 * z**7 + 19.0 * z**5 + 17.0 * z**3 - 15.0 * z) / 384.0
    found: Floats = z + first / degrees + second / degrees**2 + third / degrees**3
    return found


def summary(values: Floats) -> tuple[float, float, float, int, int]:
    """Median and quartiles without outliers, and the numbers of values kept and left out: what the queries compute for
    a table."""
    logs = np.log(values)
    low, centre, high = np.quantile(logs, [0.25, 0.5, 0.75])
    reach = FENCE * max(float(high - low) / NORMAL_QUARTILES, _SPREAD_MIN)
    kept = logs[np.abs(logs - centre) <= reach]
    low, centre, high = np.quantile(kept, [0.25, 0.5, 0.75])
    return float(np.exp(centre)), float(np.exp(low)), float(np.exp(high)), len(kept), len(values) - len(kept)
