import { z } from 'zod'

const YEAR = '(?!0000)[0-9]{4}'
const MONTH_AND_DAY =
  '(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|[12][0-9]))'
const TIME_OF_DAY = '(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,3})?'

export const TIME = new RegExp(`^${YEAR}-${MONTH_AND_DAY}T${TIME_OF_DAY}Z$`)
export const TIME_DESCRIPTION = 'RFC 3339, UTC, at most milliseconds'

/**
 * A time. The pattern checks that the day exists. `parseTime` later adds the milliseconds. Year 0 is excluded: the
 * Postgres driver reads 29 February of year 0 as 1 March, and the stored time would differ from the signed time.
 */
export const time = z.string().regex(TIME).describe(TIME_DESCRIPTION)
