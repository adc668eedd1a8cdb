import { quote } from '../../proof/json/jcs.ts'
import { type OtherMembers, SHOWN_OTHERS } from '../../proof/statement/record-members.ts'

/**
 * A record as the API shows it. The JSON is concatenated, which takes a third of the time of JSON.stringify (1.0
 * instead of 3.2 µs). The strings below need no escaping: they are ids, hashes, times and type names. Payload,
 * references and metadata are canonical JSON already.
 */
export type RecordView = {
  readonly id: string
  readonly ledger: string
  readonly type: string
  readonly state: string
  readonly version: number
  readonly nextEvents: readonly string[]
  /** Payload in canonical JSON, and its salt in base64url. Both are null if the payload was erased. */
  readonly payload: string | null
  readonly salt: string | null
  readonly digest: string
  readonly actor: string
  readonly key: string
  readonly onBehalfOf: string | null
  readonly parent: string | null
  /** References in canonical JSON; null if the record has no references, or if they were erased. */
  readonly references: string | null
  readonly occurredAt: string | null
  readonly otherMembers: OtherMembers | null
  readonly recordedAt: string
  readonly entry: EntryView
  readonly batch: string | null
  readonly metadata: string | null
  readonly erasure: ErasureView | null
  /** JSON of the record's gated part; null if the record is not gated. */
  readonly gated: string | null
}

export type ErasureView = {
  /**
   * Code that says why the document was erased. null if the erasing entry is unreadable. Such an entry was not signed,
   * and `verify` reports it.
   */
  readonly code: string | null
  readonly by: string
  readonly recordedAt: string
  readonly seq: number
}

export type EntryView = {
  readonly seq: number
  readonly kind: string
  readonly leaf: string
  readonly chain: string
  readonly signedBy: 'agent' | 'server'
}

export function renderRecord(r: RecordView): string {
  return (
    `{"id":"${r.id}","ledger":"${r.ledger}","type":"${r.type}","state":"${r.state}","version":${r.version},` +
    `"nextEvents":${r.nextEvents.length === 0 ? '[]' : `["${r.nextEvents.join('","')}"]`},` +
    `"payload":${r.payload ?? 'null'},"salt":${quotePlain(r.salt)},"digest":"${r.digest}",` +
    `"actor":"${r.actor}","key":"${r.key}","onBehalfOf":${quotePlain(r.onBehalfOf)},"parent":${quotePlain(r.parent)},` +
    `"references":${r.references ?? 'null'},` +
    `"occurredAt":${quotePlain(r.occurredAt)},${renderOthers(r.otherMembers)}"recordedAt":"${r.recordedAt}","entry":${renderEntry(r.entry)},` +
    `"batch":${quotePlain(r.batch)},"metadata":${r.metadata ?? 'null'},"erasure":${renderErasure(r.erasure)},` +
    `"gated":${r.gated ?? 'null'}}`
  )
}

function renderOthers(members: OtherMembers | null): string {
  let text = ''
  for (const name of SHOWN_OTHERS) {
    const value: string | undefined = members?.[name]
    text += `"${name}":${value === undefined ? 'null' : quote(value)},`
  }
  return text
}

function renderErasure(e: ErasureView | null): string {
  if (e === null) return 'null'
  return `{"code":${quotePlain(e.code)},"by":"${e.by}","recordedAt":"${e.recordedAt}","seq":${e.seq}}`
}

function renderEntry(e: EntryView): string {
  return `{"seq":${e.seq},"kind":"${e.kind}","leaf":"${e.leaf}","chain":"${e.chain}","signedBy":"${e.signedBy}"}`
}

/**
 * Quotes a text without escaping it. Use this function only for ids, hashes, times and names of types. For text from
 * users, use `quote` of proof/json/jcs.ts.
 */
export function quotePlain(text: string | null): string {
  return text === null ? 'null' : `"${text}"`
}

type BatchView = {
  readonly batch: string
  readonly entry: EntryView
  /** JSON texts that renderBatchRecord made, joined with commas. */
  readonly records: string
}

export function renderBatch(view: BatchView): string {
  return `{"batch":"${view.batch}","entry":${renderEntry(view.entry)},"records":[${view.records}]}`
}

export function renderBatchRecord(id: string, digest: string, salt: string | null): string {
  return `{"id":"${id}","digest":"${digest}","salt":${quotePlain(salt)}}`
}
