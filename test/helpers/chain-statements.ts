import { claimsOf } from '../../src/proof/ledger/statements.ts'
import { parseSignedStatement } from '../../src/proof/scitt/signed-statement.ts'
import { STATEMENT } from '../../src/proof/statement/kinds.ts'
import type { Issuer } from './signed-statements.ts'
import { makeId, sha256, type TestChain, type TestLine } from './test-chain.ts'

export function setPolicy(chain: TestChain, issuers: readonly Issuer[], more: object = {}): TestLine {
  return chain.append({
    kind: 'registration-policy-set',
    subjects: [chain.aboutLedger()],
    predicate: {
      ...chain.acting(),
      issuers: issuers.map(({ issuer, key }) => ({ issuer, keys: [key] })),
      ...more,
    },
  })
}

export function pushStatement(
  chain: TestChain,
  bytes: Uint8Array,
  recordedAt = chain.acting().recordedAt,
): TestLine {
  return chain.push(STATEMENT, recordedAt, bytes)
}

/** Appends the `statement-registered` entry that must follow the statement. */
export function register(
  chain: TestChain,
  policy: TestLine,
  line: TestLine,
  change: object = {},
  id = makeId('stm'),
): TestLine {
  const claims = claimsOf(parseSignedStatement(Buffer.from(line.envelope, 'base64')), sha256)
  return chain.append({
    kind: 'statement-registered',
    subjects: [{ name: id, sha256: line.leaf }],
    predicate: { ...chain.acting(), recordedAt: line.recordedAt, policy: policy.leaf, ...claims, ...change },
  })
}
