/** One good second among bad ones is chance. */
const SECONDS_IN_A_ROW = 3

/**
 * Seconds until so much is accepted again, and goes on being for three seconds in a row; null: never.
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
