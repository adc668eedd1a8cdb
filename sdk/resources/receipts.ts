export const COSE = 'application/cose'
/**
 * Waits up to 10 s, because a checkpoint usually comes within two seconds. The receipt includes the entry, because
 * without the entry it is useless to a reader.
 */
export const RECEIPT_QUERY = { wait: 10, statement: 'true' } as const
