/*
 * Functions that judge whether a figure stays constant, such as the memory of a process, or the throughput over ten
 * minutes.
 */

type At = { readonly at: number; readonly value: number }

export type Growth = {
  readonly mean: number
  /** Slope of the line fitted by least squares, in units of the value per unit of time. */
  readonly slope: number
  readonly max: number
  /** Growth from one end of the fitted line to the other, in percent of the mean. */
  readonly percent: number
}

export function growth(points: readonly At[]): Growth {
  if (points.length === 0) return { mean: 0, slope: 0, max: 0, percent: 0 }
  const mean = average(points.map(({ value }) => value))
  const middle = average(points.map(({ at }) => at))
  const spread = points.reduce((sum, { at }) => sum + (at - middle) ** 2, 0)
  const common = points.reduce((sum, { at, value }) => sum + (at - middle) * (value - mean), 0)
  const slope = spread === 0 ? 0 : common / spread
  const length = points.at(-1)!.at - points[0]!.at
  const max = Math.max(...points.map(({ value }) => value))
  return { mean, slope, max, percent: mean === 0 ? 0 : ((slope * length) / mean) * 100 }
}

export type Flatness = {
  readonly windows: number
  /** Standard deviation of the windows' values, in percent of their mean. */
  readonly variationPercent: number
  /** Growth from the first to the last window, by least squares, in percent of the mean. */
  readonly growthPercent: number
  /** Smallest value of a window, in percent of the median. */
  readonly worstPercent: number
}

/** Returns how constant a figure is, or null if there are fewer than three points. */
export function flatness(points: readonly At[]): Flatness | null {
  if (points.length < 3) return null
  const values = points.map(({ value }) => value)
  const mean = average(values)
  const sorted = [...values].sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)]!
  const deviation = Math.sqrt(average(values.map((value) => (value - mean) ** 2)))
  return {
    windows: points.length,
    variationPercent: (deviation / mean) * 100,
    growthPercent: growth(points).percent,
    worstPercent: (sorted[0]! / median) * 100,
  }
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}
