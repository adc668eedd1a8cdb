export type Exposed = {
  readonly name: string
  readonly type: string
  readonly help: string
  /** Samples of the metric, each with its labels except `le`. */
  readonly samples: readonly Sample[]
}

type Sample = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** Parses an exposition. Returns the metrics by name. Throws if Prometheus could not read the text. */
export function parseExposition(text: string): ReadonlyMap<string, Exposed> {
  const found = new Map<string, { name: string; type: string; help: string; samples: Sample[] }>()
  let metric = { name: '', type: '', help: '', samples: [] as Sample[] }
  for (const line of text.split('\n').filter((one) => one !== '')) {
    const comment = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line)
    if (comment?.[1] === 'HELP') {
      metric = { name: comment[2]!, type: '', help: comment[3]!, samples: [] }
      if (found.has(metric.name)) throw new Error(`${metric.name} is there twice`)
      found.set(metric.name, metric)
    } else if (comment) {
      if (comment[2] !== metric.name) throw new Error(`the type of ${comment[2]} stands at ${metric.name}`)
      metric.type = comment[3]!
    } else metric.samples.push(parseSample(line, metric))
  }
  return found
}

function parseSample(line: string, metric: { readonly name: string; readonly type: string }): Sample {
  const [, name, labels, text] = /^([a-z0-9_]+)(?:\{((?:[a-z_]+="[^"\\]*",?)*)\})? (\S+)$/.exec(line) ?? []
  const suffixes = metric.type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
  const value = text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text)
  // 'Nan' is the mean lag of the event loop if nothing was measured since the last scrape. Prometheus accepts the word
  // in any case.
  const isNumber = text === 'Nan' || !Number.isNaN(value)
  if (!suffixes.some((suffix) => name === metric.name + suffix) || !isNumber)
    throw new Error(`no sample of ${metric.name}: ${line}`)
  const pairs = [...(labels ?? '').matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label, of]) => [label!, of!])
  return { name: name!, labels: Object.fromEntries(pairs.filter(([label]) => label !== 'le')), value }
}

export function sampleOf(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  const all = [...parseExposition(text).values()].flatMap(({ samples }) => samples)
  const found = all.filter(
    (sample) =>
      sample.name === name &&
      Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
  )
  if (found.length !== 1) throw new Error(`${found.length} samples of ${name} ${JSON.stringify(labels)}`)
  return found[0]!.value
}
