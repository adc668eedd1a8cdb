/**
 * Merges the metrics of several processes in Prometheus' text format. Each metric appears once in the result, with the
 * samples of all processes. If samples have the same name and labels, only the first sample is used. So samples that
 * may differ should have a label for their process.
 */
export function mergeMetrics(texts: readonly string[]): string {
  const found = new Map<string, { head: string[]; samples: Map<string, string> }>()
  for (const text of texts) {
    let metric = { head: [] as string[], samples: new Map<string, string>() }
    for (const line of text.split('\n')) {
      if (line === '') continue
      const [, comment, name] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? []
      if (comment === 'HELP') {
        metric = found.get(name!) ?? { head: [], samples: new Map() }
        found.set(name!, metric)
      }
      if (comment === undefined) {
        const sample = line.slice(0, line.lastIndexOf(' '))
        if (!metric.samples.has(sample)) metric.samples.set(sample, line)
      } else if (!metric.head.includes(line)) metric.head.push(line)
    }
  }
  return [...found.values()].map(({ head, samples }) => lines([...head, ...samples.values()])).join('\n')
}

const lines = (all: readonly string[]) => all.map((line) => `${line}\n`).join('')
