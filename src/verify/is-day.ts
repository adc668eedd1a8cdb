/**
 * Returns whether the day exists. Date.parse is not enough, because it turns 31 June into 1 July. Throws RangeError if
 * `day` does not have the form 2027-03-31.
 */
export function isDay(day: string): boolean {
  return new Date(Date.parse(day)).toISOString().startsWith(day)
}
