import type { Tallystick } from '../../sdk/client.ts'
import { AuthenticationError, PermissionError } from '../../sdk/errors.ts'
import type { GetLedgerAnswer } from '../../sdk/generated/api.ts'
import { ProofError } from '../../src/proof/error.ts'
import { parseCheckpoint, parseVerifierKey, verifyCheckpoint } from '../../src/proof/tree/checkpoint.ts'
import { loadProviders } from '../../src/verify/providers.ts'
import { findFirstKid } from '../first-key.ts'
import { readKnownLedgers } from '../known-ledgers.ts'
import { type Finding, fail, ok, warn } from '../preflight/finding.ts'
import { checkAudits } from './check-audits.ts'
import { checkWebhooks } from './check-webhooks.ts'
import { messageOf } from './message-of.ts'

const EXPIRY_WARNING_MS = 7 * 86_400_000
const CHECKPOINT_POLL_MS = 250

export async function* checkLedger(
  client: Tallystick,
  checkpointWaitMs: number,
): AsyncGenerator<Finding, void, undefined> {
  let about: GetLedgerAnswer
  try {
    about = await client.ledger.get()
  } catch (error) {
    if (error instanceof PermissionError)
      return yield warn(
        'key',
        'the key may not read its ledger’s details',
        'for more checks, use a key with records:write',
      )
    if (error instanceof AuthenticationError)
      return yield fail('key', error.message, 'run `tallystick init --force` with another key')
    return yield fail('key', messageOf(error), null)
  }
  const { key, size, closed, name, id } = about
  yield ok('key', `${key.id} (${key.name}) of ${key.agent}`)
  yield ok('scopes', key.scopes.join(', '))
  yield checkExpiry(key.expiresAt, Date.now())
  yield closed === null
    ? ok('ledger', `${id} (${name}), ${size} entries`)
    : fail(
        'ledger',
        `${id} (${name}) is closed: ${closed}`,
        'ask the server’s operator: docs/runbooks/integrity.md#a-ledger-does-not-verify',
      )
  yield* checkWebhooks(client, key.scopes)
  if (!key.scopes.includes('audit:read')) {
    const advice = 'use a key with audit:read'
    return yield { check: 'checkpoint', status: 'skip', detail: 'the key lacks audit:read', advice }
  }
  yield await checkCheckpoint(client, about, checkpointWaitMs).catch((error) =>
    fail('checkpoint', messageOf(error), null),
  )
  yield await checkAudits(client).catch((error) => fail('audit', messageOf(error), null))
  yield* await checkWitnesses(client).catch((error) => [fail('witnesses', messageOf(error), null)])
  yield await checkPin(client, about).catch((error) => fail('first key', messageOf(error), null))
}

function checkExpiry(expiresAt: string | null, nowMs: number): Finding {
  if (expiresAt === null) return ok('expiry', 'never')
  if (Date.parse(expiresAt) - nowMs > EXPIRY_WARNING_MS) return ok('expiry', expiresAt)
  return warn(
    'expiry',
    `the key expires at ${expiresAt}`,
    'have a new key made (tallystick keys create), or a new secret (tallystick keys rotate)',
  )
}

/**
 * Waits for a checkpoint of all entries. If no such checkpoint appears, the worker is down or the ledger has a fault.
 */
async function checkCheckpoint(client: Tallystick, about: GetLedgerAnswer, waitMs: number): Promise<Finding> {
  const providers = await loadProviders()
  const until = Date.now() + waitMs
  for (;;) {
    const note = await client.checkpoints.latest()
    let covered = 0
    try {
      const key = parseVerifierKey(about.noteVerifierKey, providers.sha256)
      if (note !== null)
        covered = verifyCheckpoint(note, key, providers.sha256, providers.verifySignature).size
    } catch (error) {
      if (!(error instanceof ProofError)) throw error
      return fail(
        'checkpoint',
        `the newest checkpoint does not verify: ${error.message}`,
        'do not trust this server, and tell an auditor',
      )
    }
    if (covered >= about.size) return ok('checkpoint', `it verifies, and covers ${covered} entries`)
    if (Date.now() > until)
      return fail(
        'checkpoint',
        `${about.size - covered} of ${about.size} entries are not covered after ${waitMs / 1000} s`,
        'is the worker running? A ledger with a fault gets no checkpoints either: docs/runbooks/verification.md#a-ledger-gets-no-checkpoints',
      )
    await new Promise((resolve) => setTimeout(resolve, CHECKPOINT_POLL_MS))
  }
}

/**
 * Reports the cosigners of the newest cosigned checkpoint. Without the witnesses' keys, the check cannot tell whether
 * the cosigners are witnesses.
 */
async function checkWitnesses(client: Tallystick): Promise<Finding[]> {
  const note = await client.checkpoints.latest({ cosignatures: 1 })
  if (note === null) return []
  const { checkpoint, signatures } = parseCheckpoint(note)
  const names = new Set(signatures.map(({ name }) => name).filter((name) => name !== checkpoint.origin))
  return [ok('witnesses', `${checkpoint.size} entries are cosigned by ${[...names].join(', ')}`)]
}

async function checkPin(client: Tallystick, { id }: GetLedgerAnswer): Promise<Finding> {
  const pinned = (await readKnownLedgers()).get(id)
  const kid = await findFirstKid(client, id)
  if (pinned === undefined)
    return warn('first key', `${kid} is not pinned`, 'run `tallystick init` or `tallystick verify --pin`')
  if (pinned === kid) return ok('first key', `${kid}, as pinned`)
  const detail = `it is ${kid}, but the pinned one is ${pinned}`
  return fail('first key', detail, 'this is another ledger: tell an auditor')
}
