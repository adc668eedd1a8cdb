export const COSE = 'application/cose'
/**
 * `wait`: the server waits up to 10 s, because a checkpoint usually comes within two seconds. `statement`: the receipt
 * includes the entry, because a reader cannot use a receipt without the entry.
 */
export const RECEIPT_QUERY = { wait: 10, statement: 'true' } as const
