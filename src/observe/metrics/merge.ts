/**
 * Metrics of several processes as those of one, in the text format of Prometheus: each metric is there once, with the samples of
 * all. The first of several samples with one name and the same labels counts; samples that differ should have a label that says whose
 * they are.
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
