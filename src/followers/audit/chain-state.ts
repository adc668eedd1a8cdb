import { equalBytes, fromHex, toHex } from '../../proof/bytes.ts'
import type { Sha256 } from '../../proof/crypto.ts'
import { type EntryStep, isOwnStep, type OwnStep } from '../../proof/entry/entry-step.ts'
import { ProofError } from '../../proof/error.ts'
import { parseIdBytes } from '../../proof/ids.ts'
import type { JsonObject } from '../../proof/json/json-value.ts'
import type { LedgerAgentKeys } from '../../proof/ledger/agent-keys.ts'
import { genesis, link } from '../../proof/tree/chain.ts'
import type { CursorPosition } from '../../signing/cursor-mac.ts'

type LedgerIdentity = { readonly ledger: string; readonly issuer: string }

/**
 * Checks an entry against the entry before it. Returns the cursor for the next entry. The entry itself must be verified
 * already. `agentKeys`: the keys that earlier entries registered; this function updates them. Throws ProofError.
 *
 * Only audits check what needs the whole ledger: that no envelope occurs twice, that actors exist, that keys are not
 * revoked, and that the policy admits a registered statement. The row of a registered statement is checked together
 * with the next entry.
 */
export function extendCursor(
  cursor: CursorPosition | null,
  step: EntryStep,
  { ledger, issuer }: LedgerIdentity,
  agentKeys: LedgerAgentKeys,
  sha256: Sha256,
): CursorPosition {
  const seq = cursor?.nextSeq ?? 0
  if (step.seq !== seq)
    throw new ProofError('seq_not_dense', `the next entry must have seq ${seq}, but has seq ${step.seq}`)
  if ((seq === 0) !== (step.kind === 'ledger-created')) {
    throw new ProofError(
      'ledger_created_misplaced',
      `seq ${seq} is ${step.kind}: ledger-created must be the first entry, and no other`,
    )
  }
  const signer = cursor ? toHex(cursor.envelopeKid) : definedKid(step)
  if (isOwnStep(step)) verifyAuthor(step, { ledger, issuer }, signer, agentKeys)
  const chain = link(sha256, cursor?.chain ?? genesis(sha256, parseIdBytes('led', ledger)), step.leaf)
  if (!equalBytes(chain, step.chain))
    throw new ProofError(
      'chain_broken',
      `the entry has the chain hash ${toHex(step.chain)}, but the computed chain hash is ${toHex(chain)}`,
    )
  const hasChanged = followAgentKeys(agentKeys, step)
  return {
    nextSeq: seq + 1,
    chain,
    envelopeKid: fromHex(rotatedKid(step) ?? signer),
    agentKeys: hasChanged ? agentKeys.digest : (cursor?.agentKeys ?? null),
  }
}

function verifyAuthor(
  step: OwnStep,
  { ledger, issuer }: LedgerIdentity,
  signer: string,
  agentKeys: LedgerAgentKeys,
): void {
  if (step.ledger !== ledger || step.issuer !== issuer) {
    throw new ProofError(
      'ledger_foreign',
      `the chain belongs to ${ledger} of ${issuer}, but the entry to ${step.ledger} of ${step.issuer}`,
    )
  }
  const isAgentSigned = agentKeys.verifySigner(step)
  if (!isAgentSigned && step.kid !== signer) {
    throw new ProofError(
      'key_not_current',
      `the entry is signed by ${step.kid}, but the current key of the ledger is ${signer}`,
    )
  }
}

/** Updates the agents' keys. Returns true if the entry changed them. */
function followAgentKeys(agentKeys: LedgerAgentKeys, step: EntryStep): boolean {
  const isNew = step.kind === 'agent-key-registered'
  if (isNew) agentKeys.register(step, step.statement!.predicate)
  else if (step.kind === 'agent-key-revoked') agentKeys.revoke(step.statement!.predicate, step.seq)
  else return false
  return true
}

function definedKid({ statement }: EntryStep): string {
  const { envelopeKey } = statement!.predicate['definition'] as JsonObject
  return (envelopeKey as JsonObject)['kid'] as string
}

function rotatedKid({ kind, statement }: EntryStep): string | null {
  if (kind !== 'server-key-rotated') return null
  return (statement!.predicate['newKey'] as JsonObject)['kid'] as string
}
