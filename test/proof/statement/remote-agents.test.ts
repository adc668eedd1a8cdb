import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { bytesOfUuid, formatId, NIL_UUID, uuidOfBytes } from '../../../src/proof/ids.ts'
import { parseRemoteAgent, remoteAgentId } from '../../../src/proof/statement/remote-agents.ts'
import { nativeProviders } from '../../../src/signing/native.ts'

const { sha256 } = nativeProviders
const uuid = fc.uint8Array({ minLength: 16, maxLength: 16 }).map(uuidOfBytes)

test('a remote agent is formatted as ledger/agent, and parsed back', () => {
  fc.assert(
    fc.property(uuid, uuid, (ledger, agent) => {
      const parts = { ledger: formatId('led', ledger), agent: formatId('agt', agent) }
      assert.deepEqual(parseRemoteAgent(`${parts.ledger}/${parts.agent}`), parts)
    }),
  )
})

test('parseRemoteAgent returns null for any other text', () => {
  const [led, agt] = [formatId('led', NIL_UUID), formatId('agt', NIL_UUID)]
  for (const text of [
    '',
    '/',
    led,
    agt,
    'system',
    `${led}/`,
    `/${agt}`,
    `${agt}/${led}`,
    `${led}/${agt}/`,
    `${led}/${agt} `,
    `${led}//${agt}`,
    `${led} ${agt}`,
    `${led}/${agt}`.toUpperCase(),
  ])
    assert.equal(parseRemoteAgent(text), null, text)
})

test('a remote agent’s id is a UUIDv8, so that no local agent can have this id', () => {
  fc.assert(
    fc.property(uuid, uuid, (ledger, agent) => {
      const text = `${formatId('led', ledger)}/${formatId('agt', agent)}`
      const id = bytesOfUuid(remoteAgentId(sha256, text))
      assert.equal(id[6]! >> 4, 8)
      assert.equal(id[8]! >> 6, 2)
      assert.deepEqual(bytesOfUuid(remoteAgentId(sha256, text)), id)
    }),
  )
})

test('the id of a given remote agent is a fixed value', () => {
  const text = 'led_01jegv5gyme00r000000000001/agt_01jegv5gyme00r000000000001'
  assert.equal(remoteAgentId(sha256, text), '8546b2c1-bd2b-821d-96bc-7352d5357752')
})
