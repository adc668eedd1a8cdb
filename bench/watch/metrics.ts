/**
 * Maximum time in ms for reading a process's metrics. It is shorter than the second between two samples. A process that
 * answers later is left out.
 */
const SCRAPE_MS_MAX = 900

/**
 * Reads the metrics of several processes. Adds up counters and sizes, and takes the largest event loop lag. Returns
 * null if a process did not answer.
 */
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

/** Parses the part of Prometheus' text format that our servers use. */
export function parseMetrics(text: string): [string, number][] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const cut = line.lastIndexOf(' ')
      return [line.slice(0, cut), Number(line.slice(cut + 1))]
    })
}
