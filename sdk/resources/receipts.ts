export const COSE = 'application/cose'
/** A checkpoint comes within two seconds; and the receipt alone says nothing to whoever does not have the entry. */
export const RECEIPT_QUERY = { wait: 10, statement: 'true' } as const
