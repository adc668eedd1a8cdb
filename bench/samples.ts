import type { Sample } from './load/tally.ts'

const ID = /^(rec|bat)_[0-7][0-9a-hjkmnp-tv-z]{25}$/
const HASH = /^[0-9a-f]{64}$/

/**
 * Checks sampled 201 answers. Each must describe the record or the batch, because a server that answers without content
 * would look fast. Returns the number of checked answers. Throws on the first fault.
 */
export function checkSamples(samples: readonly Sample[], kind: 'record' | 'batch', items: number): number {
  const acknowledged = samples.filter((sample) => sample.status === 201)
  for (const { body } of acknowledged) {
    const fault =
      kind === 'batch' ? findBatchFault(JSON.parse(body), items) : findRecordFault(JSON.parse(body))
    if (fault !== null) throw new Error(`a 201 lacks members (${fault}): ${body.slice(0, 500)}`)
  }
  return acknowledged.length
}

type Answer = {
  id?: string
  batch?: string
  state?: string
  digest?: string
  entry?: { seq?: number; leaf?: string; chain?: string }
  records?: { id?: string; digest?: string }[]
}

function findRecordFault(answer: Answer): string | null {
  if (!ID.test(answer.id ?? '')) return 'id'
  if (answer.state !== 'RECORDED') return 'state'
  if (!HASH.test(answer.digest ?? '')) return 'digest'
  return findEntryFault(answer)
}

function findBatchFault(answer: Answer, items: number): string | null {
  if (!ID.test(answer.batch ?? '')) return 'batch'
  if (answer.records?.length !== items) return 'records'
  const whole = answer.records.every((record) => ID.test(record.id ?? '') && HASH.test(record.digest ?? ''))
  return whole ? findEntryFault(answer) : 'record'
}

function findEntryFault({ entry }: Answer): string | null {
  if (!Number.isInteger(entry?.seq)) return 'entry.seq'
  if (!HASH.test(entry?.leaf ?? '') || !HASH.test(entry?.chain ?? '')) return 'entry.leaf or entry.chain'
  return null
}
