import assert from 'node:assert/strict'
import { parseEntryLine } from '../../src/proof/entry/entry-line.ts'
import type { EntryStep } from '../../src/proof/entry/entry-step.ts'
import { verifyStep } from '../../src/proof/entry/verify-step.ts'
import { ProofError, type ProofErrorCode } from '../../src/proof/error.ts'
import { LedgerVerifier, type LedgerVerifierOptions } from '../../src/proof/ledger/verify-ledger.ts'
import { providers, type TestChain } from './test-chain.ts'

export function verifyChain(
  chain: TestChain,
  options: LedgerVerifierOptions & { own?: readonly string[] } = {},
  onStep: (step: EntryStep) => void = () => {},
) {
  const { own = [], ...verifierOptions } = options
  const verifier = new LedgerVerifier(providers, verifierOptions)
  for (const note of own) verifier.expectCheckpoint(note)
  const findKey = makeFindKey(chain)
  for (const line of chain.lines) {
    const step = verifyStep(parseEntryLine(JSON.stringify(line)), findKey, providers, 'all')
    verifier.append(step)
    onStep(step)
  }
  verifier.finish()
  return verifier.summary
}

export function makeFindKey(chain: TestChain) {
  const keys = new Map(chain.signers.map(({ kidHex, key }) => [kidHex, key]))
  return (kid: string) => keys.get(kid) ?? null
}

export function assertRefused(code: ProofErrorCode | RegExp, work: () => unknown, pattern = /./): void {
  assert.throws(work, (error) => {
    assert.ok(error instanceof ProofError, `${error}`)
    if (typeof code === 'string') assert.equal(error.code, code, error.message)
    else assert.match(error.code, code)
    assert.match(error.detail, pattern)
    return true
  })
}
