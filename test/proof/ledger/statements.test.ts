import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fromHex, toHex, utf8Encode } from '../../../src/proof/bytes.ts'
import type { ProofErrorCode } from '../../../src/proof/error.ts'
import { STATEMENT } from '../../../src/proof/statement/kinds.ts'
import { pushStatement, register, setPolicy } from '../../helpers/chain-statements.ts'
import { type Issuer, makeIssuer, signStatement } from '../../helpers/signed-statements.ts'
import { makeChain, makeId, type TestLine } from '../../helpers/test-chain.ts'
import { assertRefused, verifyChain } from '../../helpers/verify-chain.ts'

/*
 * Tests how the verifier checks registered statements. A thief of the ledger's envelope key can sign such entries,
 * valid or not.
 */

function setUp(issuer: Issuer = makeIssuer()) {
  const chain = makeChain()
  return { chain, issuer, policy: setPolicy(chain, [issuer]) }
}

function refused(code: ProofErrorCode, build: (made: ReturnType<typeof setUp>) => unknown): void {
  const made = setUp()
  build(made)
  assertRefused(code, () => verifyChain(made.chain))
}

test('accepts statements that are each followed by their statement-registered entry', () => {
  const { chain, issuer, policy } = setUp()
  for (const subject of ['a', 'b']) {
    register(chain, policy, pushStatement(chain, signStatement(issuer, { subject })))
    chain.notarize()
  }
  const next = makeIssuer('https://scan.example')
  register(chain, setPolicy(chain, [next]), pushStatement(chain, signStatement(next)))
  assert.deepEqual([verifyChain(chain).statements, verifyChain(chain).records], [3, 2])
})

test('refuses a statement or a registration without its counterpart, with statement_pair', () => {
  refused('statement_pair', ({ chain, issuer }) => pushStatement(chain, signStatement(issuer)))
  refused('statement_pair', ({ chain, issuer }) => [
    pushStatement(chain, signStatement(issuer)),
    chain.notarize(),
  ])
  refused('statement_pair', ({ chain, issuer, policy }) => {
    const line = pushStatement(chain, signStatement(issuer))
    register(chain, policy, line)
    register(chain, policy, line)
  })
  refused('statement_pair', ({ chain, issuer, policy }) => {
    const first = pushStatement(chain, signStatement(issuer))
    pushStatement(chain, signStatement(issuer, { subject: 'b' }))
    register(chain, policy, first)
  })
})

test('refuses a statement-registered entry that contradicts the statement, with statement_pair', () => {
  for (const change of [
    { issuer: 'https://other.example' },
    { subject: 'x' },
    { contentType: 'text/plain' },
    { kid: '6b32' },
    { payload: '00'.repeat(32) },
    { recordedAt: '2026-11-20T13:00:00.000Z' },
  ])
    refused('statement_pair', ({ chain, issuer, policy }) =>
      register(chain, policy, pushStatement(chain, signStatement(issuer)), change),
    )
  refused('statement_pair', ({ chain, issuer, policy }) => {
    const other = { ...pushStatement(chain, signStatement(issuer)), leaf: '00'.repeat(32) }
    register(chain, policy, other)
  })
})

test('refuses statements that the newest registration policy does not allow', () => {
  refused('signature_invalid', ({ chain, issuer, policy }) =>
    register(chain, policy, pushStatement(chain, signStatement({ ...makeIssuer(), kid: issuer.kid }))),
  )
  refused('policy_refused', ({ chain, policy }) =>
    register(chain, policy, pushStatement(chain, signStatement(makeIssuer('https://nobody.example')))),
  )
  refused('key_unknown', ({ chain, issuer, policy }) =>
    register(chain, policy, pushStatement(chain, signStatement({ ...issuer, kid: utf8Encode('k2') }))),
  )
  refused('policy_refused', ({ chain, issuer, policy }) => {
    setPolicy(chain, [makeIssuer('https://scan.example')])
    register(chain, policy, pushStatement(chain, signStatement(issuer)))
  })
  // The registration names an older policy that has the same content as the newest policy.
  refused('policy_refused', ({ chain, issuer, policy }) => {
    setPolicy(chain, [issuer])
    register(chain, policy, pushStatement(chain, signStatement(issuer)))
  })
  refused('policy_refused', ({ chain, issuer }) => {
    const policy = setPolicy(chain, [issuer], { contentTypes: ['text/plain'] })
    register(chain, policy, pushStatement(chain, signStatement(issuer)))
  })
  const chain = makeChain()
  const line = pushStatement(chain, signStatement(makeIssuer()))
  register(chain, line, line)
  assertRefused('policy_refused', () => verifyChain(chain))
})

test('refuses a second registration of a statement, and a duplicate id', () => {
  refused('duplicate_envelope', ({ chain, issuer, policy }) => {
    const bytes = signStatement(issuer)
    for (let i = 0; i < 2; i++) register(chain, policy, pushStatement(chain, bytes))
  })
  refused('duplicate_subject', ({ chain, issuer, policy }) => {
    const id = makeId('stm')
    for (const subject of ['a', 'b'])
      register(chain, policy, pushStatement(chain, signStatement(issuer, { subject })), {}, id)
  })
})

test('refuses a ledger entry shown as a statement, and a statement shown as an entry', () => {
  refused('statement_is_entry', ({ chain }) => {
    chain.notarize().kind = STATEMENT
  })
  refused('cose_content_type', ({ chain, issuer, policy }) => {
    const line = pushStatement(chain, signStatement(issuer))
    register(chain, policy, line)
    line.kind = 'record-notarized'
  })
})

test('refuses a line that contradicts the statement or has documents', () => {
  const spoiled = (code: ProofErrorCode, spoil: (line: TestLine) => void) =>
    refused(code, ({ chain, issuer, policy }) => {
      const line = pushStatement(chain, signStatement(issuer))
      register(chain, policy, line)
      spoil(line)
    })
  spoiled('line_contradicts_envelope', (line) => {
    line.leaf = '00'.repeat(32)
  })
  spoiled('document_presence', (line) => {
    line.documents = [{ subject: makeId('rec'), digest: line.leaf, salt: null, document: null, erasedBy: 1 }]
  })
  spoiled('document_presence', (line) => {
    line.items = []
  })
  spoiled('document_presence', (line) => {
    line.received = line.envelope
  })
  spoiled('document_presence', (line) => {
    line.signer = { alg: 'EdDSA', spki: '' }
  })
  spoiled('chain_broken', (line) => {
    line.chain = toHex(fromHex('11'.repeat(32)))
  })
  refused('cose_unprotected', ({ chain, issuer, policy }) => {
    const bytes = signStatement(issuer, { unprotected: new Map([[394, []]]) })
    register(chain, policy, pushStatement(chain, bytes))
  })
})

test('refuses a registration by an API key without the scope, with actor_not_entitled', () => {
  const chain = makeChain()
  const [agent, key] = [makeId('agt'), makeId('key')]
  chain.registerAgent(agent)
  chain.createKey(key, agent, { scopes: ['records:write'] })
  const issuer = makeIssuer()
  const policy = setPolicy(chain, [issuer])
  register(chain, policy, pushStatement(chain, signStatement(issuer)), { actor: agent, key })
  assertRefused('actor_not_entitled', () => verifyChain(chain))
})
