import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { nowMs } from '../clock.ts'
import { UsageError } from '../errors.ts'
import type { PublishedKey, SignalEventData } from '../generated/api.ts'
import { envelope, type VerifiedEnvelope } from './envelope.ts'
import { VerificationError } from './errors.ts'

/** As `webhooks.verify` answers it, or `GET /v1/events` has it. */
export type SignalEvent = {
  readonly type: 'signal.emitted'
  readonly timestamp: string
  readonly data: SignalEventData
}

export type SignalOptions = {
  /** Those of `/.well-known/tallystick-keys.json`, kept from before: keys that the event brings are not believed. */
  readonly keys: readonly PublishedKey[]
  /** `led_…`: a server signs for all of its ledgers with one key. */
  readonly ledger: string
  /** Without it now. */
  readonly now?: Date | undefined
}

/** Signal that a payer may act upon. All of it is signed. */
export type VerifiedSignal = {
  readonly ledger: string
  readonly record: string
  /** The record's, after the verdict or its overturning. The higher of two signals counts. */
  readonly version: number
  /** Completion that was judged. */
  readonly completion: string
  readonly decision: 'SETTLE' | 'HOLD' | 'RELEASE'
  /** Why: `accepted`, `accepted_anyway`, `rejected`, `rules_passed`, `rules_failed`, `overturned`. */
  readonly code: string
  readonly failingRules: readonly string[]
  /** null: without end. Anybody who acts later than now looks again. */
  readonly validUntil: string | null
  /** Author of the verdict: an agent, or `system` if the rules alone decided. */
  readonly actor: string
  /** For whom, where the actor is a gateway. */
  readonly onBehalfOf: string | null
  readonly recordedAt: string
  /** Hash of the envelope, which names the entry in the chain. Hex. */
  readonly leaf: string
  /** `<record>/<version>`: the key to act once under. */
  readonly once: string
}

/**
 * `signal_expired`: the signal is genuine, and it is too late to act upon it. An error, so that nobody settles by not having looked.
 * It becomes no younger when it is sent again: keep it, have somebody look unless it was acted upon in time, and answer 2xx.
 */
export class SignalExpiredError extends VerificationError {
  readonly signal: VerifiedSignal

  constructor(signal: VerifiedSignal) {
    super('signal_expired', `${signal.decision} of ${signal.once} was valid until ${signal.validUntil}`)
    this.name = 'SignalExpiredError'
    this.signal = signal
  }
}

/**
 * The settlement signal of a `signal.emitted` event, or of its `data`: that one of `keys` signed it, for this ledger, and that what
 * stands beside the envelope is what it says. Needs no server. Throws VerificationError: `event_syntax`, `signal_absent`,
 * `event_contradicts_envelope`, `signal_expired`, and what `envelope` throws.
 *
 * Not signed with it, and therefore not answered: the record's type, the entry's place (that takes a proof), and documents
 * (`document`, with the digests of the subjects).
 */
export async function signal(
  event: SignalEvent | SignalEventData,
  { keys, ledger, now }: SignalOptions,
): Promise<VerifiedSignal> {
  if (typeof ledger !== 'string' || ledger === '')
    throw new UsageError('ledger is the one that is worked for: a server signs for all of its ledgers')
  const at = nowMs(now)
  const { data, timestamp } = partsOf(event)
  if (typeof data['envelope'] !== 'string') throw new VerificationError('event_syntax', 'it has no envelope')
  const found = await envelope(data['envelope'], { keys, ledger })
  if (found.signal === null || found.version === null)
    throw new VerificationError('signal_absent', `${found.kind} says nothing to anybody who settles`)
  refuseContradictions(data, found)
  if (timestamp !== undefined) refuseOther('timestamp', timestamp, found.recordedAt)
  const signal = verifiedSignal(found, found.signal, found.version)
  if (signal.validUntil !== null && at > Date.parse(signal.validUntil)) throw new SignalExpiredError(signal)
  return signal
}

/** Any sender controls all of it. */
type Told = { readonly [name: string]: unknown }

function partsOf(event: unknown): { data: Told; timestamp?: unknown } {
  if (!isObject(event))
    throw new UsageError('an event is the object that webhooks.verify answers, or its data')
  if (!('data' in event)) return { data: event }
  const { type, data, timestamp = null } = event
  if (type !== 'signal.emitted') throw new UsageError('of all events only signal.emitted brings a signal')
  if (!isObject(data)) throw new VerificationError('event_syntax', 'its data is no object')
  return { data, timestamp }
}

function isObject(value: unknown): value is Told {
  return typeof value === 'object' && value !== null
}

/** Programs read what stands beside the envelope, so it must not be another story. */
function refuseContradictions(data: Told, found: VerifiedEnvelope): void {
  const { ledger, kind, leaf, predicate, subjects, version } = found
  const record = isObject(data['record']) ? data['record'] : {}
  const entry = isObject(data['entry']) ? data['entry'] : {}
  refuseOther('ledger', data['ledger'], ledger)
  refuseOther('record.id', record['id'], subjects[0]!.name)
  refuseOther('record.version', record['version'], version)
  refuseOther('record.state', record['state'], predicate['to'])
  refuseOther('entry.kind', entry['kind'], kind)
  refuseOther('entry.leaf', entry['leaf'], leaf)
  refuseOther('signal', data['signal'], found.signal)
  refuseOther('subjects', data['subjects'], subjects)
  refuseOther('predicate', data['predicate'], predicate)
}

function refuseOther(name: string, told: unknown, signed: unknown): void {
  if (!isSame(told, signed))
    throw new VerificationError('event_contradicts_envelope', `${name} is not what is signed`)
}

function isSame(told: unknown, signed: unknown): boolean {
  try {
    return canonicalize(told as JsonValue) === canonicalize(signed as JsonValue)
  } catch {
    return false // missing, no JSON, or nested without end
  }
}

function verifiedSignal(
  { ledger, subjects, actor, onBehalfOf, recordedAt, leaf }: VerifiedEnvelope,
  { decision, code, failingRules, validUntil }: NonNullable<VerifiedEnvelope['signal']>,
  version: number,
): VerifiedSignal {
  // In this order in each entry that has a signal.
  const [record, completion] = subjects.map(({ name }) => name) as [string, string]
  const said = { decision, code, failingRules, validUntil, actor, onBehalfOf, recordedAt, leaf }
  return { ledger, record, version, completion, ...said, once: `${record}/${version}` }
}
