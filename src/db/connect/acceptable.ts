/**
 * Settings that an operator may leave off because the storage makes them unnecessary.
 *
 * ZFS writes whole pages. Some managed services flush their log by themselves.
 */
export const ACCEPTABLE = ['fsync', 'full_page_writes'] as const
export type Acceptable = (typeof ACCEPTABLE)[number]
