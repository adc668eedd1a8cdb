/**
 * Settings that an operator may leave off if the storage makes them unnecessary.
 *
 * For example, ZFS writes whole pages, and some managed services flush their log by themselves.
 */
export const ACCEPTABLE = ['fsync', 'full_page_writes'] as const
export type Acceptable = (typeof ACCEPTABLE)[number]
