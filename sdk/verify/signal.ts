import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { nowMs } from '../clock.ts'
import { UsageError } from '../errors.ts'
import type { PublishedKey, SignalEventData } from '../generated/api.ts'
import { envelope, type VerifiedEnvelope } from './envelope.ts'
import { VerificationError } from './errors.ts'

/** An event that `webhooks.verify` returns, or that `GET /v1/events` contains. */
export type SignalEvent = {
  readonly type: 'signal.emitted'
  readonly timestamp: string
  readonly data: SignalEventData
}

export type SignalOptions = {
  /** Keys of `/.well-known/tallystick-keys.json`, stored earlier. Keys inside the event are not trusted. */
  readonly keys: readonly PublishedKey[]
  /** Id of the expected ledger, `led_…`. It is needed because a server signs for all of its ledgers with one key. */
  readonly ledger: string
  /** Time at which the signal must be valid. Default: the current time. */
  readonly now?: Date | undefined
}

/** A signal that a payer may act on. Every member is signed. */
export type VerifiedSignal = {
  readonly ledger: string
  readonly record: string
  /**
   * Version of the record after the verdict or after it was overturned. If a record has two signals, the one with the
   * higher version counts.
   */
  readonly version: number
  /** Id of the judged completion. */
  readonly completion: string
  readonly decision: 'SETTLE' | 'HOLD' | 'RELEASE'
  /** Reason: `accepted`, `accepted_anyway`, `rejected`, `rules_passed`, `rules_failed`, `overturned`. */
  readonly code: string
  readonly failingRules: readonly string[]
  /**
   * Time until which the signal is valid. null if the signal does not expire. If you act later, check the signal again.
   */
  readonly validUntil: string | null
  /** Author of the verdict: an agent, or `system` if only the rules decided. */
  readonly actor: string
  /** Agent for which a gateway acted. null if the actor acted for itself. */
  readonly onBehalfOf: string | null
  readonly recordedAt: string
  /** Hash of the envelope, in hex. It identifies the entry in the chain. */
  readonly leaf: string
  /** Idempotency key of the form `<record>/<version>`. Use it to act on the signal only once. */
  readonly once: string
}

/**
 * `signal_expired`: the signal is genuine, but too old to act on.
 *
 * It is an error so that nobody settles an expired signal by mistake. If the event is sent again, the signal is still
 * expired. Store the event, answer 2xx, and let a person check it unless it was settled in time.
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
 * Verifies the settlement signal of a `signal.emitted` event, or of its `data`, offline. One of `keys` must have signed
 * its envelope for this ledger. All other members must match the envelope.
 *
 * Throws VerificationError: `event_syntax`, `signal_absent`, `event_contradicts_envelope`, `signal_expired`, and the
 * errors of `envelope`. Some members are not signed with the signal, and therefore not returned: the record's type, the
 * position of the entry (use a proof), and documents (use `document` with the digests of the subjects).
 */
export async function signal(
  event: SignalEvent | SignalEventData,
  { keys, ledger, now }: SignalOptions,
): Promise<VerifiedSignal> {
  if (typeof ledger !== 'string' || ledger === '')
    throw new UsageError(
      'set the option `ledger` to the id of your ledger, because a server signs for all of its ledgers',
    )
  const at = nowMs(now)
  const { data, timestamp } = partsOf(event)
  if (typeof data['envelope'] !== 'string') throw new VerificationError('event_syntax', 'it has no envelope')
  const found = await envelope(data['envelope'], { keys, ledger })
  if (found.signal === null || found.version === null)
    throw new VerificationError('signal_absent', `an entry of kind ${found.kind} has no settlement signal`)
  refuseContradictions(data, found)
  if (timestamp !== undefined) refuseOther('timestamp', timestamp, found.recordedAt)
  const signal = verifiedSignal(found, found.signal, found.version)
  if (signal.validUntil !== null && at > Date.parse(signal.validUntil)) throw new SignalExpiredError(signal)
  return signal
}

/** An object whose content the sender controls. */
type UntrustedObject = { readonly [name: string]: unknown }

function partsOf(event: unknown): { data: UntrustedObject; timestamp?: unknown } {
  if (!isObject(event))
    throw new UsageError(
      'the event must be the object that webhooks.verify returns, or the member `data` of this object',
    )
  if (!('data' in event)) return { data: event }
  const { type, data, timestamp = null } = event
  if (type !== 'signal.emitted') throw new UsageError('only an event of the type signal.emitted has a signal')
  if (!isObject(data))
    throw new VerificationError('event_syntax', 'the member data of the event is not an object')
  return { data, timestamp }
}

function isObject(value: unknown): value is UntrustedObject {
  return typeof value === 'object' && value !== null
}

/**
 * Throws `event_contradicts_envelope` if an unsigned member differs from the envelope, because programs read such
 * members.
 */
function refuseContradictions(data: UntrustedObject, found: VerifiedEnvelope): void {
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

function refuseOther(name: string, claimed: unknown, signed: unknown): void {
  if (!isSame(claimed, signed))
    throw new VerificationError('event_contradicts_envelope', `${name} differs from the signed value`)
}

function isSame(claimed: unknown, signed: unknown): boolean {
  try {
    return canonicalize(claimed as JsonValue) === canonicalize(signed as JsonValue)
  } catch {
    return false // The claimed value is absent, is not JSON, or contains itself.
  }
}

function verifiedSignal(
  { ledger, subjects, actor, onBehalfOf, recordedAt, leaf }: VerifiedEnvelope,
  { decision, code, failingRules, validUntil }: NonNullable<VerifiedEnvelope['signal']>,
  version: number,
): VerifiedSignal {
  // The subjects of every entry with a signal begin with the record and the completion.
  const [record, completion] = subjects.map(({ name }) => name) as [string, string]
  const claims = { decision, code, failingRules, validUntil, actor, onBehalfOf, recordedAt, leaf }
  return { ledger, record, version, completion, ...claims, once: `${record}/${version}` }
}
