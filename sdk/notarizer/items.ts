import {
  DOCUMENT_BYTES_MAX,
  JSON_DEPTH_MAX,
  METADATA_BYTES_MAX,
  REFERENCES_BYTES_MAX,
} from '../../src/proof/request-limits.ts'
import { type OtherRequest, otherMembersOf } from '../../src/proof/statement/record-members.ts'
import { TRACEPARENT } from '../../src/proof/statement/traceparent.ts'
import { UsageError } from '../errors.ts'
import { toJson } from '../json.ts'

/** Members of a record besides its payload. */
export type RecordOptions<Name extends string = string> = OtherRequest & {
  /** Absent: `generic/1`, which takes any object. */
  readonly type?: Name | undefined
  /** Absent: now. The ledger has its own time of a record, which is later by as long as the record waited here. */
  readonly occurredAt?: Date | string | undefined
  readonly onBehalfOf?: string | undefined
  /** Free, at most 4 KiB, not signed. */
  readonly metadata?: object | undefined
  /** Label of the person that it is about: the ledger keeps a keyed hash of it, by which all documents of the person are found and erased. */
  readonly subject?: string | undefined
  /** Id of a record of the ledger. Its own records are known by their ids from `onRecorded` on: `parentHandle` names one before. */
  readonly parent?: string | undefined
  /** Name of the record for those that follow from it; no two have the same. 1 to 255 visible ASCII characters, no `"` or `\`. */
  readonly handle?: string | undefined
  /**
   * `handle` of an earlier record of this notarizer, or of an earlier process on its spool, which becomes the parent. Without a parent if
   * that record was refused, or is not among the newest 10 000 with a handle.
   */
  readonly parentHandle?: string | undefined
  /** URIs, or `system:id`: at most 16, of 256 characters each. */
  readonly references?: readonly string[] | undefined
  /** W3C Trace Context: signed with the record, which is found by its trace id. */
  readonly traceparent?: string | undefined
  /** One's own name for the record: comes back with its id, and is sent nowhere. */
  readonly tag?: string | undefined
}

/** A record as it waits: the text that is sent, made when it was taken. */
export type Item = {
  readonly text: string
  readonly tag: string | undefined
  readonly handle: string | undefined
  /** Absent once the text names the parent, or it is known that there is none. */
  readonly parentHandle: string | undefined
}

export type MeasuredItem = Item & {
  readonly type: string
  /** Its id or its handle. */
  readonly parent: string | undefined
  /** Length of the text in UTF-8. */
  readonly bytes: number
}

const TAG_CHARS_MAX = 255
const HANDLE = /^[!#-[\]-~]{1,255}$/
/** Type, time, agent, parent and trace, with room. */
const FRAME_BYTES_MAX = 2 * 1024
export const ITEM_BYTES_MAX = DOCUMENT_BYTES_MAX + METADATA_BYTES_MAX + REFERENCES_BYTES_MAX + FRAME_BYTES_MAX

/** A record's payload lies in the record, in the list of records, in the body. */
const DOCUMENT_DEPTH_MAX = JSON_DEPTH_MAX - 3

/** Throws UsageError for what would not be recorded as it was given. */
export function makeItem(payload: object, options: RecordOptions, nowMs: number): MeasuredItem {
  const {
    type = 'generic/1',
    occurredAt,
    onBehalfOf,
    metadata,
    subject,
    parent,
    handle,
    parentHandle,
    references,
    traceparent,
    tag,
  } = options
  if (tag !== undefined && tag.length > TAG_CHARS_MAX)
    throw new UsageError(`a tag has at most ${TAG_CHARS_MAX} characters`)
  for (const name of [handle, parentHandle])
    if (name !== undefined && !HANDLE.test(name))
      throw new UsageError('a handle has 1 to 255 visible ASCII characters, and neither " nor \\ among them')
  if (parent !== undefined && parentHandle !== undefined)
    throw new UsageError('a record has one parent: by its id or by its handle')
  if (traceparent !== undefined && !TRACEPARENT.test(traceparent))
    throw new UsageError('a traceparent is 00-<32 hex digits>-<16 hex digits>-<2 hex digits>')
  const text = `{"type":${toJson(type, '/type')},"payload":${documentText(payload, '/payload', DOCUMENT_BYTES_MAX)}${
    metadata === undefined ? '' : `,"metadata":${documentText(metadata, '/metadata', METADATA_BYTES_MAX)}`
  },"occurredAt":${occurredAt === undefined ? instant(nowMs) : toJson(occurredAt, '/occurredAt')}${
    onBehalfOf === undefined ? '' : `,"onBehalfOf":${toJson(onBehalfOf, '/onBehalfOf')}`
  }${parent === undefined ? '' : `,"parent":${toJson(parent, '/parent')}`}${
    references === undefined ? '' : `,"references":${referencesText(references)}`
  }${subject === undefined ? '' : `,"subject":${toJson(subject, '/subject')}`}${traceparent === undefined ? '' : `,"traceparent":"${traceparent}"`}${othersText(options)}}`
  const bytes = utf8Bytes(text)
  if (bytes > ITEM_BYTES_MAX)
    throw new UsageError('a type, an agent, a parent or a time is no longer than some words')
  return { text, tag, handle, parentHandle, type, parent: parent ?? parentHandle, bytes }
}

function othersText(options: OtherRequest): string {
  let text = ''
  for (const [name, value] of Object.entries(otherMembersOf(options) ?? {}))
    text += `,"${name}":${toJson(value, `/${name}`)}`
  return text
}

/** The text of a record with a parent: an id, or the place of an earlier record of its batch. */
export function withParent(text: string, parent: string | number): string {
  return `${text.slice(0, -1)},"parent":${JSON.stringify(parent)}}`
}

function documentText(document: object, at: string, bytesMax: number): string {
  const text = toJson(document, at, DOCUMENT_DEPTH_MAX)
  if (!text.startsWith('{')) throw new UsageError(`${at} is no JSON object`)
  // The server counts the canonical form, which is as long: members in another order.
  if (text.length * 3 > bytesMax && utf8Bytes(text) > bytesMax)
    throw new UsageError(
      `${at} has more than the ${bytesMax} bytes that are taken: keep the large part elsewhere, and its digest here`,
    )
  return text
}

function referencesText(references: readonly string[]): string {
  const text = toJson(references, '/references')
  if (utf8Bytes(text) <= REFERENCES_BYTES_MAX) return text
  throw new UsageError(`/references has more than the ${REFERENCES_BYTES_MAX} bytes that are taken`)
}

/** As JSON; made once in a millisecond, because a hot loop records hundreds in each. */
let instantMs = Number.NaN
let instantText = ''
function instant(nowMs: number): string {
  if (nowMs !== instantMs) {
    instantMs = nowMs
    instantText = `"${new Date(nowMs).toISOString()}"`
  }
  return instantText
}

const encoder = new TextEncoder()
/** Encoding into it is 10 times as fast as into new bytes, and twice as fast as counting: 0.05 µs for 400 characters. */
const scratch = new Uint8Array(ITEM_BYTES_MAX + 4)

/** Infinity for more than any item may have. */
function utf8Bytes(text: string): number {
  const { read, written } = encoder.encodeInto(text, scratch)
  return read === text.length ? written : Number.POSITIVE_INFINITY
}
