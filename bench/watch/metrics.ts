/** A sample a second is due: a process that answers later is left out of it. */
const SCRAPE_MS_MAX = 900

/** Counters and sizes of several processes are summed, the event loop's lag is the worst one's. null: one did not answer. */
export async function scrapeAll(urls: readonly string[]): Promise<Record<string, number> | null> {
  try {
    const texts = await Promise.all(
      urls.map(async (url) => (await fetch(url, { signal: AbortSignal.timeout(SCRAPE_MS_MAX) })).text()),
    )
    const all: Record<string, number> = {}
    for (const [name, value] of texts.flatMap(parseMetrics))
      all[name] = name.startsWith('nodejs_eventloop_lag')
        ? Math.max(all[name] ?? 0, value)
        : (all[name] ?? 0) + value
    return all
  } catch {
    return null
  }
}

/** Prometheus' text format, as far as it is ours. */
export function parseMetrics(text: string): [string, number][] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const cut = line.lastIndexOf(' ')
      return [line.slice(0, cut), Number(line.slice(cut + 1))]
    })
}
