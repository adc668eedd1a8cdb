import type { GatedApp } from './gated-app.ts'
import { SECRET } from './personal-records.ts'

/** Evidence that fails the rule about the currency. So the compared values contain the secret too. */
export const PERSONAL_EVIDENCE = { quantity: 100, currency: SECRET }
export const PERSONAL_REASON = { reason: `because of ${SECRET}` }

export type PersonalGated = {
  readonly id: string
  readonly completions: readonly [string, string]
  /** Seq of the record's creation. One entry for each step follows. */
  readonly firstSeq: number
}

/**
 * Makes a record with two rounds. Every kind of document contains a person's name: the payload, evidence and compared
 * values of two completions, and the reasons of a revision, a verdict and an overturn.
 */
export async function makePersonalGated(app: GatedApp): Promise<PersonalGated> {
  const payload = { quantity: 100, name: SECRET }
  const { id, entry } = await app.create({ payload, metadata: { note: SECRET }, references: [SECRET] })
  await app.take(id, 'activate')
  const complete = async (): Promise<string> => {
    const { gated } = await app.take(id, 'completions', { body: { evidence: PERSONAL_EVIDENCE } })
    await app.verify(id)
    return gated.completion.id
  }
  const first = await complete()
  await app.take(id, 'revision', { body: PERSONAL_REASON })
  const second = await complete()
  await app.take(id, 'verdict', { body: { verdict: 'reject', ...PERSONAL_REASON } })
  await app.take(id, 'overturn', { body: PERSONAL_REASON })
  return { id, completions: [first, second], firstSeq: entry.seq }
}

/** A document of a record, named as in the answer to an erasure. */
export type Erasable = {
  readonly document: string
  readonly seq: number
  readonly completion: string | null
  readonly address: string
}

export function documentsOf({ id, completions, firstSeq }: PersonalGated): Erasable[] {
  const of = (document: string, step: number, completion: string | null, address: string): Erasable => ({
    document,
    seq: firstSeq + step,
    completion,
    address: `/v1/records/${id}/${address}`,
  })
  const ofCompletion = (document: string, step: number, completion: string) =>
    of(document, step, completion, `completions/${completion}/${document}`)
  const reason = (step: number) => of('reason', step, null, `entries/${firstSeq + step}/reason`)
  return [
    of('payload', 0, null, 'payload'),
    ofCompletion('evidence', 2, completions[0]),
    ofCompletion('values', 3, completions[0]),
    reason(4),
    ofCompletion('evidence', 5, completions[1]),
    ofCompletion('values', 6, completions[1]),
    reason(7),
    reason(8),
  ]
}

export function eraseAt(app: GatedApp, address: string, options: object = {}) {
  return app.send('DELETE', address, { body: { code: 'data_subject_request' }, ...options })
}
