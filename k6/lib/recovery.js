/** Number of seconds in a row that must be good. A single good second may be chance. */
const SECONDS_IN_A_ROW = 3

/**
 * Returns the seconds until the accepted rate reaches `least` for three seconds in a row, or null if it never does.
 *
 * @param {readonly number[]} acceptedBySecond
 * @param {number} least
 * @returns {number | null}
 */
export function findRecovery(acceptedBySecond, least) {
  const second = acceptedBySecond.findIndex((_, from) => {
    const row = acceptedBySecond.slice(from, from + SECONDS_IN_A_ROW)
    return row.length === SECONDS_IN_A_ROW && row.every((accepted) => accepted >= least)
  })
  return second < 0 ? null : second
}
