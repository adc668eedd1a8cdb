/** Selector of the chosen processes. */
export const IN = 'namespace=~"$namespace", job=~"$job", instance=~"$instance"'
/** Selector of figures that are true for all ledgers, whichever process says them. */
export const OF_ALL = 'namespace=~"$namespace", job=~"$job"'

export function rate(metric: string, by = '', matchers = ''): string {
  const labels = [matchers, IN].filter((part) => part !== '').join(', ')
  return `sum${by && ` by (${by})`} (rate(${metric}{${labels}}[$__rate_interval]))`
}

export function quantile(share: number, histogram: string, by = '', matchers = ''): string {
  return `histogram_quantile(${share}, ${rate(`${histogram}_bucket`, ['le', by].filter((part) => part !== '').join(', '), matchers)})`
}

/** The p50 and the p99 of a histogram. */
export function quantiles(histogram: string, matchers = ''): [string, string][] {
  return [
    [quantile(0.5, histogram, '', matchers), 'p50'],
    [quantile(0.99, histogram, '', matchers), 'p99'],
  ]
}

export function most(metric: string, by = '', matchers = ''): string {
  const labels = [matchers, OF_ALL].filter((part) => part !== '').join(', ')
  return `max${by && ` by (${by})`} (${metric}{${labels}})`
}

/** One series for each process. */
export function each(metric: string, matchers = ''): string {
  return `${metric}{${[matchers, IN].filter((part) => part !== '').join(', ')}}`
}
