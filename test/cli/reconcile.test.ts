import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { makePeers, type PeeredChains } from '../helpers/peered-chains.ts'
import { runCli } from '../helpers/run-cli.ts'
import { runAlone } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { makeChain, type TestChain } from '../helpers/test-chain.ts'
import { makeGated } from '../helpers/test-gated.ts'

const textOf = (chain: TestChain) => `${chain.exportLines().join('\n')}\n`

function save(t: TestContext, { home, guest }: Pick<PeeredChains, 'home' | 'guest'>): [string, string] {
  const files = temporaryFiles(t)
  return [files.write('home.ndjson', textOf(home)), files.write('guest.ndjson', textOf(guest))]
}

/** Makes two records and a pending offer. One of the records is shared after its creation. */
function exchange(): PeeredChains {
  const peers = makePeers()
  const gated = peers.create()
  peers.receive(peers.guest, gated.last())
  peers.receive(peers.guest, peers.take(gated, peers.offer(gated, 'record-activated')))
  const later = makeGated(peers.home)
  for (const line of [peers.share(later), later.last()]) peers.receive(peers.guest, line)
  peers.offer(gated, 'completion-submitted')
  return peers
}

const RECONCILED = 'RECONCILED records=2 entries=6 offers=1 inFlight=1 keys='

test('prints one line and exits with 0 where both sides match, in either order and from standard input', async (t) => {
  const [home, guest] = save(t, exchange())
  for (const files of [
    [home, guest],
    [guest, home],
  ])
    assert.deepEqual(await runAlone(['reconcile', ...files]), {
      code: 0,
      stdout: `${RECONCILED}self-asserted\n`,
      stderr: '',
    })
  const { stdout } = await runCli(['reconcile', home, '-'], { input: readFileSync(guest, 'utf8') })
  assert.equal(stdout, `${RECONCILED}self-asserted\n`)
})

test('names the ledger and the entry of the first difference, and exits with 1', async (t) => {
  const peers = exchange()
  const gated = peers.create()
  const at = peers.receive(peers.guest, gated.last())
  peers.home.forget()
  peers.home.notarize()
  const files = save(t, peers)
  const { code, stdout } = await runAlone(['reconcile', ...files])
  assert.equal(code, 1)
  const start = `NOT_RECONCILED ledger=${peers.guest.ledger} seq=${at.seq} code=not_sent reason="`
  assert.equal(stdout.slice(0, start.length), start)
  const report = JSON.parse((await runAlone(['reconcile', '--json', ...files])).stdout)
  assert.deepEqual([report.ok, report.counts, report.failure.code], [false, null, 'not_sent'])
  assert.deepEqual(
    report.ledgers.map(({ ok }: { ok: boolean }) => ok),
    [true, true],
  )
})

test('names the ledger that does not verify by itself, and exits with 1', async (t) => {
  const peers = exchange()
  const seq = peers.guest.lines.length
  // The guest's ledger contains the same entry twice, so it does not verify.
  const [first] = peers.home.lines.filter(({ kind }) => kind === 'record-created')
  peers.receive(peers.guest, first!)
  const [home, guest] = save(t, peers)
  const { code, stdout } = await runAlone(['reconcile', home, guest])
  assert.equal(code, 1)
  const start = `NOT_RECONCILED ledger=${peers.guest.ledger} seq=${seq} code=received_twice reason="${guest}: `
  assert.equal(stdout.slice(0, start.length), start)
})

test('prints the weaker source of the two ledgers’ keys', async (t) => {
  const peers = exchange()
  const files = save(t, peers)
  const [ours, theirs] = [peers.home, peers.guest].map(({ firstSigner }) => ['--key', firstSigner.kidHex])
  const one = await runAlone(['reconcile', ...files, ...ours!])
  assert.equal(one.stdout, `${RECONCILED}self-asserted\n`)
  const both = await runAlone(['reconcile', ...files, ...ours!, ...theirs!])
  assert.equal(both.stdout, `${RECONCILED}given\n`)
  const absent = await runAlone(['reconcile', ...files, '--key', 'ab'.repeat(32)])
  assert.equal(absent.code, 1)
  assert.match(absent.stdout, /^NOT_RECONCILED code=trusted_key_absent/)
})

test('checks each ledger against its own checkpoints', async (t) => {
  const peers = exchange()
  const files = temporaryFiles(t)
  const [home, guest] = save(t, peers)
  const kept = [peers.home, peers.guest].map((chain, i) => files.write(`${i}.note`, chain.checkpoint(4)))
  const keys = [peers.home, peers.guest].flatMap(({ firstSigner }) => ['--key', firstSigner.kidHex])
  const strict = ['reconcile', home, guest, '--strict']
  assert.match((await runAlone(strict)).stdout, /ledger=led_\w+ code=keys_not_given/)
  assert.match((await runAlone([...strict, ...keys])).stdout, /code=checkpoint_not_given/)
  const given = [...strict, ...keys, ...kept.flatMap((file) => ['--checkpoint', file])]
  assert.deepEqual(await runAlone(given), { code: 0, stdout: `${RECONCILED}given\n`, stderr: '' })
  const foreign = files.write('foreign.note', makeChain().checkpoint())
  const { stdout } = await runAlone(['reconcile', home, guest, '--checkpoint', foreign])
  assert.match(stdout, /^NOT_RECONCILED code=checkpoint_foreign/)
})

test('counts entries beyond the other export’s end, which --strict refuses', async (t) => {
  const peers = makePeers()
  const files = temporaryFiles(t)
  const home = files.write('home.ndjson', textOf(peers.home))
  const gated = peers.create()
  peers.receive(peers.guest, gated.last())
  const guest = files.write('guest.ndjson', textOf(peers.guest))
  const both = ['reconcile', home, guest]
  const { stdout } = await runAlone(both)
  assert.equal(stdout, 'RECONCILED records=0 entries=1 offers=0 inFlight=0 keys=self-asserted beyond=1\n')
  const given = [peers.home, peers.guest].flatMap((chain, i) => [
    '--key',
    chain.firstSigner.kidHex,
    '--checkpoint',
    files.write(`${i}.note`, chain.checkpoint(4)),
  ])
  assert.match((await runAlone([...both, ...given, '--strict'])).stdout, /^NOT_RECONCILED code=beyond_export/)
})

test('refuses two exports of one ledger, and any other number of files than two, with 64', async (t) => {
  const [home, guest] = save(t, exchange())
  for (const [args, message] of [
    [
      [home, home],
      /^tallystick: .* and .* are both exports of led_\w+: name exports of a ledger and of its peer\n$/,
    ],
    [[home], /usage: tallystick reconcile A.export B.export/],
    [[home, guest, home], /usage: tallystick reconcile A.export B.export/],
    [['-', '-'], /one of the two exports can be read from standard input/],
  ] as const) {
    const { code, stdout, stderr } = await runAlone(['reconcile', ...args])
    assert.equal(code, 64)
    assert.equal(stdout, '')
    assert.match(stderr, message)
  }
})

test('exits with 1 for a wrong or truncated ledger, 65 or 74 for a file that is no export', async (t) => {
  const peers = exchange()
  const [home] = save(t, peers)
  const files = temporaryFiles(t)
  assert.equal((await runAlone(['reconcile', home, files.write('none', 'hello\n')])).code, 65)
  assert.equal((await runAlone(['reconcile', home, '/nowhere.ndjson'])).code, 74)
  const cut = files.write('cut', `${peers.guest.exportLines().slice(0, -1).join('\n')}\n`)
  for (const pair of [
    [home, cut],
    [cut, home],
  ]) {
    const { code, stdout } = await runAlone(['reconcile', ...pair])
    assert.equal(code, 1)
    assert.match(stdout, /^NOT_RECONCILED code=\w+ reason=".*cut is /)
  }
})

test('refuses with 65 an export whose escapes hide a shared entry from the first scan', async (t) => {
  const peers = exchange()
  const [home, guest] = save(t, peers)
  const hidden = readFileSync(home, 'utf8').replace('"kind":"record-shared"', '"kind":"record\\u002dshared"')
  const { code, stderr } = await runAlone(['reconcile', temporaryFiles(t).write('hidden', hidden), guest])
  assert.equal(code, 65)
  assert.match(stderr, /does not have the form of an export/)
})
