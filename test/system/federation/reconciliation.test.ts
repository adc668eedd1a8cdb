import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { compareVersions } from '../../../src/outside/federation/reconciliation.ts'
import {
  askAnew,
  live,
  look,
  type Organisation,
  offer,
  peer,
  reconciliation,
  registerDelivery,
  share,
  startOrganisations,
  take,
  untilBoth,
  untilQuiet,
} from '../../helpers/federation.ts'
import { temporaryDir } from '../../helpers/postgres.ts'
import { runAlone } from '../../helpers/run-command.ts'

const HEX = 'ab'.repeat(32)

test('reconciliation of two servers, and of their exports', async (t) => {
  const [home, guest, other] = (await startOrganisations(t, 3)) as [Organisation, Organisation, Organisation]
  await registerDelivery(home)
  const id = await peer(home, guest)
  const otherId = await peer(home, other)
  const performer = await guest.addAgent('performer')
  const pair = { home, guest, peer: id, performer }
  const [first, second] = [await share(pair), await share(pair)]

  await t.test('is not reconciled before the other side was asked', async () => {
    const { reconciled, reasons, summary } = await reconciliation(home, id)
    assert.deepEqual([reconciled, reasons, summary], [false, ['not_asked'], null])
  })

  await live(first)
  await untilBoth(second, 'CREATED')
  await offer(second, 'activate')
  await untilBoth(second, 'ACTIVE')
  await take(second, 'cancel', { reason: 'no longer needed' })
  await untilBoth(second, 'CANCELLED')
  for (const [side, peerId] of [
    [home, id],
    [guest, id],
    [home, otherId],
  ] as const)
    await untilQuiet(side, peerId)

  await t.test('is reconciled, and each side counts what it sent and received', async () => {
    const ours = await askAnew(home, id)
    assert.deepEqual([ours.reconciled, ours.reasons, ours.asking], [true, [], false])
    // The first record has five entries, and the second record has three.
    assert.deepEqual(ours.sent, { records: 2, entries: 8, acknowledged: 8, inFlight: 0, deadLetters: 0 })
    // The four entries are the invited side's peer-added and three offers.
    assert.deepEqual(ours.received, { records: 0, entries: 4, forks: 0 })
    assert.deepEqual(ours.offers, {
      made: { pending: 0, taken: 0, refused: 0 },
      answered: { taken: 3, refused: 0 },
    })
    const { at, ...summary } = ours.summary
    assert.deepEqual(summary, { whole: true, records: 2, faults: 0, behind: 0, differences: [] })
    assert.ok(Date.parse(at) <= Date.now())
    const theirs = await askAnew(guest, id)
    assert.equal(theirs.reconciled, true)
    assert.deepEqual(theirs.sent, { records: 0, entries: 4, acknowledged: 4, inFlight: 0, deadLetters: 0 })
    assert.deepEqual(theirs.received, { records: 2, entries: 8, forks: 0 })
    assert.deepEqual(theirs.offers.made, { pending: 0, taken: 3, refused: 0 })
  })

  await t.test('stays reconciled when a record is shared later with a second peer', async () => {
    const later = { ...first, peer: otherId, guest: other }
    await home.ask('POST', `/v1/records/${first.id}/share`, {
      body: { share: [{ peer: otherId, documents: 'whole' }] },
    })
    await untilBoth(later, 'ACCEPTED')
    await untilQuiet(home, otherId)
    await untilQuiet(home, id)
    for (const peerId of [id, otherId]) {
      const { sent, reconciled, reasons } = await askAnew(home, peerId)
      assert.deepEqual([sent.deadLetters, reconciled, reasons], [0, true, []])
    }
  })

  await t.test('reconciles offline, by exports', async () => {
    const directory = temporaryDir()
    const files = await Promise.all(
      [home, guest, other].map(async (side) => {
        const file = join(directory, `${side.name}.ndjson`)
        writeFileSync(file, (await side.send('GET', '/v1/export')).body)
        return file
      }),
    )
    const [ours, theirs, others] = files as [string, string, string]
    assert.deepEqual(await runAlone(['reconcile', ours, theirs]), {
      code: 0,
      stdout: 'RECONCILED records=2 entries=12 offers=3 inFlight=0 keys=self-asserted\n',
      stderr: '',
    })
    // The seven entries are the peer-added, the entry that shares the record, and the record's five entries.
    assert.match(
      (await runAlone(['reconcile', others, ours])).stdout,
      /^RECONCILED records=1 entries=7 offers=0 inFlight=0 /,
    )
    assert.match((await runAlone(['reconcile', theirs, others])).stdout, /code=peering_missing/)
  })

  await t.test('an entry under way is no fault', async () => {
    await guest.stop('api')
    const third = await share(pair)
    const { sent, reconciled, summary } = await reconciliation(home, id)
    assert.deepEqual([sent.entries - sent.acknowledged, sent.inFlight, reconciled], [1, 1, true])
    const [difference] = summary.differences
    assert.deepEqual(
      [difference.record, difference.difference, difference.theirs],
      [third.id, 'theirs_behind', null],
    )
    await guest.start('api')
    await untilBoth(third, 'CREATED')
  })

  await t.test('differences that a peer reports are shown, faults first', async () => {
    const { version, entry } = await look(home, first)
    const gone = `rec_${'0'.repeat(25)}1`
    const said = [
      [gone, 1, HEX],
      [first.id, version, HEX],
      [second.id, 99, HEX],
    ]
    await home.sql('update tallystick.peer_cursors set summary = $1 where peer_id = $2', [
      JSON.stringify({ whole: true, records: said }),
      await uuidOf(home, id),
    ])
    const { reconciled, reasons, summary } = await reconciliation(home, id)
    assert.deepEqual([reconciled, reasons], [false, ['records_differ']])
    const kinds = summary.differences.map((one: { record: string; difference: string }) => [
      one.record,
      one.difference,
    ])
    assert.deepEqual(kinds.slice(0, 2), [
      [first.id, 'leaf'],
      [second.id, 'unknown'],
    ])
    assert.deepEqual(summary.differences[0].ours, { version, leaf: entry.leaf })
    assert.deepEqual([summary.faults, summary.behind], [2, 2])
    assert.deepEqual(
      kinds.slice(2).map(([, kind]: [string, string]) => kind),
      ['theirs_behind', 'ours_behind'],
    )
  })

  await t.test('a truncated summary is not compared beyond its end', async () => {
    const { entry, version } = await look(home, first)
    await home.sql('update tallystick.peer_cursors set summary = $1 where peer_id = $2', [
      JSON.stringify({ whole: false, records: [[first.id, version, entry.leaf]] }),
      await uuidOf(home, id),
    ])
    const { reasons, summary } = await reconciliation(home, id)
    assert.deepEqual([reasons, summary.differences], [['summary_incomplete'], []])
  })

  await t.test('dead letters are a reason; a fork that the peer has not signed is none', async () => {
    const peerId = await uuidOf(home, id)
    await home.sql(
      `insert into tallystick.peer_dead_letters (ledger_id, peer_id, seq, kind, code)
       select ledger_id, peer_id, added_seq, 'record-created', 'fork' from tallystick.peers where peer_id = $1`,
      [peerId],
    )
    await home.sql(
      `insert into tallystick.peer_forks (ledger_id, peer_id, leaf, remote_seq, held_leaf, envelope)
       select ledger_id, peer_id, $2, 3, $2, '\\x00' from tallystick.peers where peer_id = $1`,
      [peerId, Buffer.from(HEX, 'hex')],
    )
    const { reasons, sent, received } = await askAnew(home, id)
    assert.deepEqual([reasons, sent.deadLetters, received.forks], [['dead_letters'], 1, 0])
  })

  await t.test('a peer whose peering is not active cannot be asked (409 state_conflict)', async () => {
    await home.ask('POST', `/v1/peers/${otherId}/revoke`, { body: {} })
    const { status, body } = await home.send('POST', `/v1/peers/${otherId}/reconciliation`, { body: {} })
    assert.deepEqual([status, body.code], [409, 'state_conflict'])
    await untilQuiet(home, otherId)
    const { state, sent } = await reconciliation(home, otherId)
    // The seven entries are the one that shares the record, the record's five entries, and the one that ends the
    // peering.
    assert.deepEqual([state, sent.entries, sent.acknowledged], ['revoked', 7, 7])
    const invited = await home.ask('POST', '/v1/peers', { body: { name: 'nobody yet' } })
    const nothing = await reconciliation(home, invited.id)
    assert.deepEqual([nothing.state, nothing.sent.entries, nothing.reasons], ['invited', 0, ['not_asked']])
  })
})

async function uuidOf(side: Organisation, id: string): Promise<string> {
  const { name } = await side.ask('GET', `/v1/peers/${id}`)
  const [row] = await side.sql<{ peerId: string }>('select peer_id from tallystick.peers where name = $1', [
    name,
  ])
  return row!.peerId
}

describe('a record that both hold', () => {
  const at = (version: number, leaf: string) => ({ version, leaf })
  for (const [what, home, ours, theirs, before, expected] of [
    ['is the same', 'ours', at(2, 'a'), at(2, 'a'), null, null],
    ['is another at the same version', 'theirs', at(2, 'a'), at(2, 'b'), null, 'leaf'],
    ['has not come to them', 'ours', at(1, 'a'), null, null, 'theirs_behind'],
    ['has not come to them whole', 'ours', at(3, 'c'), at(2, 'b'), 'b', 'theirs_behind'],
    ['was another before', 'ours', at(3, 'c'), at(2, 'x'), 'b', 'leaf'],
    ['has not come to us whole', 'theirs', at(2, 'b'), at(3, 'c'), null, 'ours_behind'],
    ['goes on there without our chain', 'ours', at(2, 'b'), at(3, 'c'), null, 'unknown'],
  ] as const)
    test(what, () => assert.equal(compareVersions(home, ours, theirs, before), expected))
})
