import { ProofError } from '../error.ts'
import { takenOfferOf } from './federation-statements.ts'
import { parseRemoteAgent } from './remote-agents.ts'
import type { ParsedStatement } from './statement.ts'
import { partyOf } from './statement.ts'

/** Terms of a step. The offer and the step that takes the offer must have the same terms. */
export type OfferedTerms = {
  readonly peer: string
  readonly record: string
  /** Digest of the payload in lower-case hex. `evidence` has the same form. */
  readonly payload: string
  readonly step: string
  readonly version: number
  /** Leaf of the record's last entry before the step. */
  readonly previous: string
  /** Id of the agent that takes the step, without its ledger. */
  readonly party: string
  readonly completion: string | null
  readonly evidence: string | null
}

export function termsOfOffer(offer: ParsedStatement): OfferedTerms {
  const { peer, step } = offer.predicate as { peer: string; step: string }
  return { ...commonTerms(offer), peer, step, party: partyOf(offer) }
}

/** Returns the terms of a step of the home ledger that takes an offer. */
export function termsOfTaken(step: ParsedStatement): OfferedTerms {
  const { peer } = takenOfferOf(step.predicate)!
  return { ...commonTerms(step), peer, step: step.kind, party: parseRemoteAgent(step.actor)!.agent }
}

function commonTerms({ subjects, predicate }: ParsedStatement) {
  const {
    record,
    version,
    previous,
    completion = null,
  } = predicate as {
    record: string
    version: number
    previous: string
    completion?: string
  }
  const [payload, evidence] = subjects
  return {
    record,
    payload: payload.sha256,
    version,
    previous,
    completion,
    evidence: evidence?.sha256 ?? null,
  }
}

/** Throws `offer_mismatch` if the step differs from the offer. */
export function verifyTaken(offered: OfferedTerms, taken: OfferedTerms): void {
  for (const name of Object.keys(offered) as (keyof OfferedTerms)[]) {
    if (offered[name] !== taken[name])
      throw new ProofError(
        'offer_mismatch',
        `${name} of the step is ${taken[name]}, but ${offered[name]} was offered`,
      )
  }
}
