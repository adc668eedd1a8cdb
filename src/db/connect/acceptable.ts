/** Settings that some storage does not need: ZFS writes whole pages, and some managed services flush their log by themselves. */
export const ACCEPTABLE = ['fsync', 'full_page_writes'] as const
export type Acceptable = (typeof ACCEPTABLE)[number]
