import type { EntryRow } from '../db/chain/append-entries.ts'
import { ApiError } from '../errors.ts'
import type { Signer } from '../proof/crypto.ts'
import type { SignedLedger, Signers } from '../signing/signers.ts'
import type { Appender, Overloaded } from './appender.ts'
import type { AppendOutcome, RefusalReason } from './commit.ts'
import { APPEND_STALE_RETRIES_MAX } from './limits.ts'

type Written = { readonly replayed: boolean; readonly seq: number; readonly chain: string }

export type AppendDeps = { readonly appender: Appender; readonly signers: Signers }

/**
 * Appends the entry that `build` makes, and returns when the entry is committed. For every other outcome, throws the
 * ApiError that the client gets. An entry is stale if the ledger's key has changed, or if the record has a newer entry.
 * A stale entry is built and signed again.
 */
export async function appendOne<Built extends { readonly entry: EntryRow }>(
  deps: AppendDeps,
  ledger: SignedLedger,
  build: (signer: Signer) => Built | Promise<Built>,
): Promise<Written & { readonly built: Built }> {
  const sinceMs = 'authenticatedAtMs' in ledger ? (ledger.authenticatedAtMs as number) : null
  let signer = deps.signers.signerOf(ledger)
  for (let attempt = 0; ; attempt++) {
    const built = await build(await signer)
    const outcome = await deps.appender.append(built.entry, attempt === 0 ? sinceMs : null)
    if ('seq' in outcome) noteSize(ledger, outcome.seq + 1)
    if (outcome.status === 'appended')
      return { replayed: false, seq: outcome.seq, chain: outcome.chain, built }
    if (outcome.status === 'replayed') return { replayed: true, seq: outcome.seq, chain: '', built }
    if (outcome.status === 'stale' && attempt < APPEND_STALE_RETRIES_MAX) {
      signer = deps.signers.signerAfterStale(ledger, built.entry.kid)
      continue
    }
    throw toApiError(outcome, built.entry)
  }
}

/**
 * Stores in the request that the ledger has at least `size` entries. Later reads of the same caller can then demand a
 * state that includes these entries.
 */
export function noteSize({ written }: SignedLedger, size: number): void {
  if (written) written.size = Math.max(written.size ?? 0, size)
}

type NotWritten = Exclude<AppendOutcome | Overloaded, { status: 'appended' | 'replayed' }>

export function toApiError(
  outcome: NotWritten,
  { idempotency, isAgentSigned = false }: Pick<EntryRow, 'idempotency' | 'isAgentSigned'>,
): Error {
  const hasIdempotencyKey = idempotency !== null
  switch (outcome.status) {
    case 'conflict':
      return new ApiError(
        'idempotency_key_reused',
        'the first request with this Idempotency-Key was different',
      )
    case 'overloaded':
      return new ApiError('overloaded', 'nothing was written: try again later', {
        retryable: true,
        // Part of the wait is random, so that refused clients do not all retry at the same moment.
        retryAfterMs: outcome.retryAfterMs * (1 + Math.random()),
      })
    case 'unavailable':
      return new ApiError('unavailable', 'nothing was written: try again later', {
        retryable: true,
        retryAfterMs: 1000,
        cause: outcome.error,
      })
    case 'unknown':
      return new ApiError(
        'outcome_unknown',
        hasIdempotencyKey
          ? 'it may or may not have been written: retry with the same Idempotency-Key to get the outcome'
          : 'it may or may not have been written: without an Idempotency-Key a retry may write it twice',
        { retryable: hasIdempotencyKey, cause: outcome.error },
      )
    case 'refused':
      return refusal(outcome.reason, isAgentSigned)
    case 'stale':
      // An entry is stale if the ledger's key has changed, or if the record has a newer step. For a newer step,
      // take-step.ts answers with the current record instead.
      return new ApiError(
        'state_conflict',
        "nothing was written: the ledger's signing key changed meanwhile; send it again",
        { retryable: true },
      )
    case 'again': // The appender itself retries entries with this outcome.
      return new ApiError(
        'state_conflict',
        'nothing was written: another request used the same record or Idempotency-Key; send it again',
        { retryable: true },
      )
    case 'failed':
      return outcome.error
  }
}

function refusal(reason: RefusalReason, isAgentSigned: boolean): Error {
  switch (reason) {
    case 'state':
      return new ApiError('state_conflict', 'the state of the record does not allow this step')
    case 'party':
      return new ApiError('not_entitled', 'only another agent may take this step')
    case 'deadline':
      return new ApiError('deadline_passed', 'nothing was written: the record’s deadline has passed')
    case 'signature':
      return isAgentSigned
        ? new ApiError('signing_key_refused', 'nothing was written: the signing key of the agent was revoked')
        : new ApiError(
            'agent_signature_required',
            'nothing was written: the agent signs its own entries, and this entry has no signature of the agent',
          )
    case 'taken':
      return new ApiError(
        'duplicate_envelope',
        'nothing was written: the ledger already has a record with this id',
      )
    case 'clock':
      if (isAgentSigned)
        return new ApiError(
          'signed_time_refused',
          "nothing was written: `recordedAt` of the statement differs by more than 20 s from the database's clock",
        )
      return new ApiError(
        'clock_skew',
        "nothing was written: this server's clock differs by more than 30 s from the database's clock",
        {
          retryable: true,
        },
      )
    case 'frozen':
      return new ApiError('ledger_frozen', 'nothing was written: the operator has frozen this ledger')
    case 'closed':
      return new ApiError(
        'ledger_closed',
        'nothing was written: the database has an older state of this ledger than was published; the operator must acknowledge the loss',
        { retryable: true, retryAfterMs: 60_000 },
      )
    case 'moving':
      return ledgerMoving()
    case 'moved':
      return new ApiError('ledger_moved', 'nothing was written: this ledger was moved to another deployment')
    case 'ledger':
    case 'kind':
      return new Error(`append_entries refused the ${reason}`) // No request can cause the reasons `ledger` and `kind`.
  }
}

/** Delay in ms after which clients retry. Moving a small ledger takes about one second. */
const MOVING_RETRY_MS = 1_000

export function ledgerMoving(): ApiError {
  return new ApiError(
    'ledger_moving',
    'nothing was written: the ledger is being moved to another deployment',
    {
      retryable: true,
      retryAfterMs: MOVING_RETRY_MS,
    },
  )
}
