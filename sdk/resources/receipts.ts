export const COSE = 'application/cose'
/**
 * A checkpoint comes within two seconds. The receipt includes the entry, because it is useless to a reader without
 * it.
 */
export const RECEIPT_QUERY = { wait: 10, statement: 'true' } as const
