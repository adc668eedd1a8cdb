import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import {
  type Organisation,
  registerDelivery,
  startOrganisations,
  untilBoth,
  untilPeer,
} from '../../helpers/federation.ts'
import { PAYLOAD } from '../../helpers/gated-app.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'

const ONCE = 'tallystick: the secret is only shown once: store it now\n'

type Given = { readonly input?: string; readonly isTTY?: boolean }

function run(side: Organisation, args: readonly string[], given: Given = {}) {
  const env = { TALLYSTICK_URL: side.url, TALLYSTICK_API_KEY: side.admin.key }
  return runAlone(args, { env, ...given })
}

// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
async function linesOf(side: Organisation, args: string[], given: Given = {}): Promise<any[]> {
  const { code, stdout, stderr } = await run(side, args, given)
  assert.deepEqual([code, stderr], [0, ''], args.join(' '))
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

async function fails(side: Organisation, args: string[], code: number, pattern: RegExp): Promise<void> {
  const failed = await run(side, args)
  assert.deepEqual([failed.code, failed.stdout], [code, ''], failed.stderr)
  assert.match(failed.stderr, pattern)
}

test('two ledgers become peers, share a record, and part', async (t) => {
  const [home, guest] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  await registerDelivery(home)
  const files = temporaryFiles(t)
  let id = ''

  await t.test('the invitation is shown once, and accepted from a file or from standard input', async () => {
    const shown = await run(home, ['peers', 'invite', 'Bolt'], { isTTY: true })
    assert.match(shown.stdout, /^invitation +tlp_\S+$/m)
    const other = /peer_\w+/.exec(shown.stdout)![0]
    const { code, stdout, stderr } = await run(home, ['peers', 'invite', 'Bolt', '--bare'])
    assert.deepEqual([code, stderr], [0, ONCE])
    assert.match(stdout, /^tlp_[\w-]+\n$/)
    const file = files.write('invitation.txt', stdout)
    const accept = ['peers', 'accept', 'Acme']
    await fails(guest, accept, 64, /no invitation was given/)
    await fails(
      guest,
      [...accept, '--invitation-file', files.write('none', 'tlp_x')],
      1,
      /the text is not an invitation/,
    )
    await fails(guest, [...accept, '--invitation-file', '/nowhere'], 74, /can't be read|cannot be read/)
    const [accepted] = await linesOf(guest, [...accept, '--invitation-file', file])
    id = accepted.id
    assert.deepEqual([accepted.state, accepted.invitation], ['pending', null])
    assert.match((await run(guest, accept, { input: readFileSync(file, 'utf8') })).stderr, /peer_exists/)
    for (const side of [home, guest]) await untilPeer(side, id, 'active')
    assert.deepEqual((await linesOf(home, ['peers', 'revoke', other, '--yes']))[0].state, 'revoked')
  })

  await t.test('a record is shared at its creation or later, whole or as digests', async () => {
    const create = ['create', '--type', 'delivery/1', '--payload', JSON.stringify(PAYLOAD)]
    const [first] = await linesOf(home, [...create, '--share', id])
    const [second] = await linesOf(home, create)
    const [later] = await linesOf(home, ['share', second.id, '--with', `${id}:digests`])
    assert.deepEqual(later.gated.share, [{ peer: id, documents: 'digests' }])
    for (const record of [first, second])
      await untilBoth({ id: record.id, peer: id, home, guest, performer: null }, 'CREATED')
    const listed = await linesOf(guest, ['peers', 'records', id])
    assert.deepEqual(
      listed.map((record) => [record.id, record.role, record.documents]),
      [
        [first.id, 'guest', 'whole'],
        [second.id, 'guest', 'digests'],
      ],
    )
    const table = await run(home, ['peers', 'records', id], { isTTY: true })
    assert.match(
      table.stdout,
      /^ID +ROLE +TYPE +STATE +VERSION +DOCUMENTS +OFFER\nrec_\w+ +home +delivery\/1 +CREATED +1 +whole\n/,
    )
    await fails(home, ['share', second.id, '--with', id], 1, /already_shared/)
  })

  await t.test('commands show the state of a peer, and whether both sides reconcile', async () => {
    const table = await run(home, ['peers', 'list'], { isTTY: true })
    assert.match(table.stdout, /^ID +STATE +BEHIND +FAILURES +DEAD +FORKS +NAME +URL\n/)
    assert.match(
      table.stdout,
      new RegExp(`^${id} +active +\\d+ +0 +0 +0 +Bolt +http://127\\.0\\.0\\.1:\\d+$`, 'm'),
    )
    assert.equal((await linesOf(home, ['peers', 'get', id]))[0].remote.ledger, guest.ledger)
    const unasked = await run(home, ['peers', 'reconciliation', id])
    assert.deepEqual(
      [unasked.code, unasked.stderr],
      [1, 'tallystick: the peer was not asked yet: add --ask\n'],
    )
    const [found] = await linesOf(home, ['peers', 'reconciliation', id, '--ask'])
    assert.deepEqual([found.reconciled, found.summary.records], [true, 2])
    for (const what of ['dead-letters', 'forks'])
      assert.deepEqual(await linesOf(home, ['peers', what, id]), [])
    assert.deepEqual(await linesOf(home, ['peers', 'replay', id, '--seq', '3']), [{ replayed: 0 }])
  })

  await t.test('a peering is suspended with a code, resumed and revoked', async () => {
    const [suspended] = await linesOf(home, ['peers', 'suspend', id, '--code', 'maintenance'])
    assert.equal(suspended.state, 'suspended')
    const [entry] = (await linesOf(home, ['entries'])).filter(({ kind }) => kind === 'peer-suspended')
    assert.match(Buffer.from(entry.envelope, 'base64').toString('latin1'), /"code":"maintenance"/)
    await fails(home, ['peers', 'reconciliation', id, '--ask'], 1, /state_conflict: the peering is suspended/)
    assert.equal((await linesOf(home, ['peers', 'resume', id]))[0].state, 'active')
    await fails(home, ['peers', 'revoke', id], 64, /can't be undone: add --yes/)
    assert.equal((await linesOf(home, ['peers', 'revoke', id, '--yes']))[0].state, 'revoked')
    await untilPeer(guest, id, 'revoked')
  })

  await t.test('malformed arguments fail with 64 and a hint', async () => {
    for (const [args, pattern] of [
      [['peers', 'invite'], /usage: tallystick peers invite NAME/],
      [['peers', 'list', 'x'], /usage: tallystick peers list/],
      [['peers', 'replay', id, '--seq', 'x'], /--seq takes a whole number/],
      [['share', 'rec_1'], /share needs --with PEER/],
      [['share', 'rec_1', '--with', 'Bolt'], /--with takes PEER or PEER:digests/],
      [['create', '--payload', '{}', '--share', `${id}:all`], /--share takes PEER or PEER:digests/],
    ] as const)
      await fails(home, [...args], 64, pattern)
  })
})
