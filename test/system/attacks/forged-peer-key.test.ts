import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startOrganisations, untilPeer } from '../../helpers/federation.ts'
import { namedKey } from '../../helpers/peered-chains.ts'
import { makeSigner } from '../../helpers/test-chain.ts'
import { lookAtVictims, Mallory, offering } from '../federation/mallory.ts'
import { refused, verifyOwnExport } from '../federation/unchanged.ts'

/*
 * Finding H1, first half: a row of peer_keys made the thief's key the current key of a peer. With this key the thief
 * delivered as the peer's agent and was paid.
 */

test('a peer key that was written into the database signs no request', async (t) => {
  const [victim] = await startOrganisations(t, 1)
  const [mallory, other] = [await Mallory.meet(t, victim!), await Mallory.meet(t, victim!)]
  const { id } = await victim!.ask('POST', '/v1/records', {
    body: {
      type: 'task/1',
      gate: 'auto',
      payload: {},
      performer: `${mallory.chain.ledger}/${mallory.chain.agent}`,
      share: [{ peer: mallory.peer, documents: 'whole' }],
    },
  })
  const record = await lookAtVictims(victim!, id)
  const thief = makeSigner()
  const { kid, spki } = namedKey(thief)
  const offer = offering(mallory, record, 'record-activated')
  const sent = { entries: [{ seq: offer.seq, envelope: offer.envelope }] }
  const [{ peerId }] = (await victim!.sql<{ peerId: string }>(
    `select peer_id from tallystick.peers where remote_url = $1`,
    [mallory.url],
  )) as [{ peerId: string }]

  await t.test('a thief’s key in the place of the peer’s is refused with key_unknown', async () => {
    await victim!.sql('update tallystick.peer_keys set until_seq = 1000000 where peer_id = $1', [peerId])
    await victim!.sql(
      `insert into tallystick.peer_keys (ledger_id, peer_id, kid, alg, spki)
       select ledger_id, peer_id, decode($2, 'hex'), 'EdDSA', decode($3, 'base64') from tallystick.peers where peer_id = $1`,
      [peerId, kid, spki],
    )
    const forge = () => mallory.request('entries', sent, { signer: thief })
    await refused(victim!, forge, 401, 'key_unknown')
    const [genuine] = await victim!.sql<{ mac: Buffer }>(
      'select mac from tallystick.peer_keys where peer_id = $1 and until_seq is not null',
      [peerId],
    )
    for (const mac of [randomBytes(32), genuine!.mac]) {
      await victim!.sql(
        `update tallystick.peer_keys set mac = $2 where peer_id = $1 and kid = decode($3, 'hex')`,
        [peerId, mac, kid],
      )
      await refused(victim!, forge, 401, 'key_unknown')
    }
  })

  await t.test('a row copied from another peer is refused with key_unknown', async () => {
    await victim!.sql('alter table tallystick.peer_keys disable trigger all')
    await victim!.sql(`delete from tallystick.peer_keys where peer_id = $1 and kid = decode($2, 'hex')`, [
      peerId,
      kid,
    ])
    await victim!.sql(
      `insert into tallystick.peer_keys (ledger_id, peer_id, kid, alg, spki, mac)
       select ledger_id, $1, kid, alg, spki, mac from tallystick.peer_keys where peer_id <> $1`,
      [peerId],
    )
    await refused(
      victim!,
      () => mallory.request('entries', sent, { signer: other.signer }),
      401,
      'key_unknown',
    )
    await victim!.sql('delete from tallystick.peer_keys where peer_id = $1 and until_seq is null', [peerId])
    await victim!.sql('update tallystick.peer_keys set until_seq = null where peer_id = $1', [peerId])
    await victim!.sql('alter table tallystick.peer_keys enable trigger all')
    await victim!.sql('alter table tallystick.peer_keys enable always trigger proven_session')
  })

  await t.test('the peer’s own key, and the key that it rotates to, are accepted', async () => {
    assert.equal((await lookAtVictims(victim!, id)).version, record.version)
    await mallory.take([offer])
    const { line } = mallory.rotate()
    await mallory.request('rotations', { rotations: [{ seq: line.seq, envelope: line.envelope }] })
    await mallory.take([mallory.record().last()])
    await untilPeer(victim!, mallory.peer, 'active')
    await verifyOwnExport(victim!)
  })
})
