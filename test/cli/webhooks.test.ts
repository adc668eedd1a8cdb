import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeTest, sendTest } from '../../cli/commands/webhooks-test.ts'
import { adviceOn } from '../../cli/webhook-advice.ts'
import { Tallystick } from '../../sdk/client.ts'
import { verify } from '../../sdk/webhooks/index.ts'
import { Metrics } from '../../src/observe/metrics/metrics.ts'
import { startWorker } from '../../src/run/worker.ts'
import { parseLines, testConfig } from '../helpers/app.ts'
import { capture } from '../helpers/capture.ts'
import { buildCliApp, sharedCliApp } from '../helpers/cli-app.ts'
import { addKey } from '../helpers/more-keys.ts'
import { temporaryDir } from '../helpers/postgres.ts'
import { runCommand } from '../helpers/run-command.ts'
import { until } from '../helpers/wait.ts'
import { startReceiver } from '../helpers/webhook-receiver.ts'

const ALLOW = { TALLYSTICK_OUTBOUND_ALLOW: '127.0.0.0/8' }
const ONCE = 'tallystick: the secret is only shown once: store it now\n'
const URL = 'https://example.com/hook'

/** Returns a command's output, one JSON value per line. */
// biome-ignore lint/suspicious/noExplicitAny: the shape is what tests assert
async function linesOf(args: string[], said = ''): Promise<any[]> {
  const { code, stdout, stderr } = await runCommand(['webhooks', ...args])
  assert.deepEqual([code, stderr], [0, said], args.join(' '))
  return parseLines(stdout)
}

async function fails(args: string[], code: number, pattern: RegExp): Promise<void> {
  const failed = await runCommand(['webhooks', ...args])
  assert.deepEqual([failed.code, failed.stdout], [code, ''], failed.stderr)
  assert.match(failed.stderr, pattern)
}

function environmentOf(text: string): Record<string, string> {
  return Object.fromEntries(text.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2)))
}

test('webhooks are made, changed, stopped and deleted, without anything being sent', async (t) => {
  const app = await sharedCliApp(t)

  await t.test('the secret is shown once and whole; get shows the webhook without it', async () => {
    const create = ['create', '--url', URL, '--events', 'record.expired,signal.emitted']
    const [made] = await linesOf([...create, '--types', 'order,task/1', '--include', 'envelope'], ONCE)
    assert.match(made.secret, /^whsec_\S{44}$/)
    assert.deepEqual(
      [made.events, made.types, made.include, made.description],
      [['record.expired', 'signal.emitted'], ['order', 'task/1'], ['envelope'], null],
    )
    const { secret, publicKey, ...webhook } = made
    assert.deepEqual(await linesOf(['get', made.id]), [webhook])
    assert.deepEqual(await linesOf(['list']), [webhook])
    const shown = await runCommand(['webhooks', ...create, '--description', 'for people'], { isTTY: true })
    assert.match(shown.stdout, /^secret +whsec_\S{44}$/m)
    assert.match(shown.stdout, /^description +for people$/m)
    const listed = await runCommand(['webhooks', 'list'], { isTTY: true })
    assert.match(
      listed.stdout,
      /^ID +STATE +BEHIND +FAILURES +DEAD +EVENTS +URL\nwhk_\w+ +active +0 +0 +0 +record\.expired,signal\.emitted +https:\S+\n/,
    )
    const [id] = shown.stdout.match(/whk_\w+/)!
    await fails(['delete', id], 64, /can't be undone: add --yes/)
    assert.deepEqual(await linesOf(['delete', id, '--yes']), [])
    assert.equal((await linesOf(['list'])).length, 1)
  })

  await t.test('update leaves omitted options unchanged, and an empty text removes a value', async () => {
    const [made] = await linesOf(['list'])
    const [changed] = await linesOf(['update', made.id, '--description', 'payments', '--include', ''])
    assert.deepEqual(changed, { ...made, description: 'payments', include: [] })
    const [again] = await linesOf(['update', made.id, '--types', '', '--description', '', '--events', '*'])
    assert.deepEqual(again, { ...changed, types: [], description: null, events: ['*'] })
    const [paused] = await linesOf(['pause', made.id])
    assert.deepEqual([paused.state, paused.reason], ['paused', 'requested'])
    await fails(['test', made.id], 1, /409 state_conflict: the webhook is not active: resume it first/)
    const shown = await runCommand(['webhooks', 'list'], { isTTY: true })
    assert.match(shown.stdout, /paused: requested/)
    await app.notarize()
    const [resumed] = await linesOf(['resume', made.id, '--from', 'now'])
    assert.deepEqual([resumed.state, resumed.standing.behind], ['active', 0])
    assert.deepEqual((await linesOf(['resume', made.id]))[0].state, 'active')
  })

  await t.test('rotate-secret --env prints the receiver’s environment variables', async () => {
    const [{ id, secrets }] = await linesOf(['list'])
    const { code, stdout, stderr } = await runCommand([
      'webhooks',
      'rotate-secret',
      id,
      '--overlap',
      '60',
      '--env',
    ])
    assert.deepEqual([code, stderr], [0, ONCE])
    const { WEBHOOK_SECRET, WEBHOOK_PUBLIC_KEY } = environmentOf(stdout)
    assert.match(WEBHOOK_SECRET!, /^whsec_\S{44}$/)
    const [{ secrets: rotated }] = await linesOf(['get', id])
    assert.deepEqual([rotated[0].publicKey, rotated[1].publicKey], [WEBHOOK_PUBLIC_KEY, secrets[0].publicKey])
    const [only] = await linesOf(['rotate-secret', id, '--overlap', '0'], ONCE)
    assert.equal(only.secrets.length, 1)
  })

  await t.test('invalid arguments exit with 64 before any request', async () => {
    await fails(['create', '--url', URL], 64, /usage: tallystick webhooks create --url URL --events/)
    await fails(['create', 'x', '--url', URL, '--events', '*'], 64, /usage: tallystick webhooks create/)
    await fails(['update', 'whk_1'], 64, /needs at least one option to change, such as --url/)
    await fails(['resume', 'whk_1', '--from', 'then'], 64, /--from is one of: here, now/)
    await fails(['recover', 'whk_1'], 64, /recover WEBHOOK --since TIME/)
    await fails(['delivery', 'whk_1'], 64, /delivery WEBHOOK EVENT/)
    await fails(['redeliver', 'whk_1', 'evt_1', 'evt_2'], 64, /redeliver WEBHOOK EVENT/)
    await fails(['deliveries', 'whk_1', '--state', 'lost'], 64, /--state is one of: pending, held/)
    await fails(['rotate-secret', 'whk_1', '--overlap', 'x'], 64, /--overlap takes a whole number/)
  })

  await t.test('exits with 1 for a refusal of the server, 77 for a key without the scope', async () => {
    await fails(['get', 'whk_1'], 1, /404 not_found/)
    await fails(
      ['create', '--url', 'http://127.0.0.1/', '--events', '*'],
      1,
      /422 url_refused.*OUTBOUND_ALLOW/,
    )
    await fails(['create', '--url', URL, '--events', 'record.lost'], 1, /422 invalid_request.*\/events/)
    const [twin] = await linesOf(['list'])
    await fails(
      ['create', '--url', URL, '--events', '*'],
      1,
      new RegExp(`409 state_conflict: ${twin.id} has the same URL`),
    )
    const key = await addKey(app, { scopes: ['records:read'] })
    await fails(['list', '--api-key', key], 77, /403 forbidden.*webhooks:manage/)
  })

  await t.test(
    'a test that is not sent exits with 69, and prints until when the endpoint waits',
    async () => {
      const client = new Tallystick({ baseUrl: app.url, apiKey: app.ledger.key.key })
      const [{ id }] = await linesOf(['list'])
      const judge = async () => {
        const stderr = capture()
        return [await judgeTest(client, id, await sendTest(client, id, 0), { stderr }), stderr.text()]
      }
      assert.deepEqual(await judge(), [
        69,
        'tallystick: nothing was sent in time. What to do: ask the operator of the server whether a worker is running\n',
      ])
      await app.sql(
        "update tallystick.webhook_cursors set resume_at = '2999-01-01T00:00:00Z' where ledger_id = $1",
        [app.ledgerId],
      )
      const [code, said] = await judge()
      assert.equal(code, 69)
      assert.match(
        `${said}`,
        /before 2999-01-01T00:00:00.000Z, .* What to do: repair the receiver, then run tallystick webhooks resume whk_/,
      )
    },
  )
})

test('beside a worker that delivers', async (t) => {
  const app = await buildCliApp(t, { environment: ALLOW })
  const worker = await startWorker(
    { ...testConfig(app.database.apiUrl, ALLOW), workerUrl: app.database.workerUrl, dataDir: temporaryDir() },
    new Metrics(),
  )
  t.after(() => worker.close())
  const receiver = await startReceiver()
  t.after(() => receiver.close())
  const answerWith = (status: number) => {
    receiver.answer = (_, response) => response.writeHead(status).end('busy\u001b[2J')
  }
  const made = await runCommand([
    'webhooks',
    'create',
    '--url',
    receiver.url,
    '--events',
    'record.recorded',
    '--env',
  ])
  assert.deepEqual([made.code, made.stderr], [0, ONCE])
  const { WEBHOOK_SECRET: secret, WEBHOOK_PUBLIC_KEY: publicKey } = environmentOf(made.stdout)
  const [{ id }] = await linesOf(['list'])

  await t.test('a test is delivered, and verifies with the secret that was printed', async () => {
    const [delivery] = await linesOf(['test', id])
    assert.deepEqual([delivery.event, delivery.state, delivery.attempts], ['webhook.test', 'delivered', 1])
    assert.equal(delivery.attemptLog[0].status, 204)
    const [received] = receiver.received
    const event = await verify(received!.body, received!.headers, { secret, publicKey })
    assert.deepEqual([event.type, event.id], ['webhook.test', delivery.id])
    const shown = await runCommand(['webhooks', 'test', id], { isTTY: true })
    assert.match(shown.stdout, /^state +delivered\n[\s\S]*\n\nAT +MS +STATUS +ANSWER\n2\S+Z +\d+ +204\n$/m)
    assert.equal((await diagnosed()).status, 'ok')
  })

  await t.test(
    'a failed test exits with 1, prints the answer and advice, and can be redelivered',
    async () => {
      answerWith(500)
      const failed = await runCommand(['webhooks', 'test', id])
      const [delivery] = parseLines(failed.stdout)
      assert.deepEqual([failed.code, delivery.state, delivery.attemptLog[0].status], [1, 'pending', 500])
      assert.match(failed.stderr, /^tallystick: it was not delivered \(500\)\. What to do: read the log/)
      const warned = await diagnosed()
      assert.equal(warned.status, 'warn')
      assert.match(warned.detail, new RegExp(`^${id} .* has failed since 2.*; failures in a row: 1$`))
      assert.equal(warned.advice, `tallystick webhooks test ${id}`)
      answerWith(204)
      await linesOf(['redeliver', id, delivery.id])
      await until(async () => (await linesOf(['delivery', id, delivery.id]))[0].state === 'delivered')
      const table = await runCommand(['webhooks', 'delivery', id, delivery.id], { isTTY: true })
      assert.match(table.stdout, /^attempts +2$[\s\S]*^2\S+Z +\d+ +500[\s\S]*^2\S+Z +\d+ +204/m)
    },
  )

  await t.test('deliveries are listed by state, event and record', async () => {
    const record = await app.notarize()
    const about = ['deliveries', id, '--record', record.id]
    await until(async () => (await linesOf(about)).length === 1)
    const [delivery] = await linesOf(about)
    assert.deepEqual([delivery.event, delivery.record], ['record.recorded', record.id])
    assert.deepEqual(await linesOf(['deliveries', id, '--event', 'record.recorded', '--limit', '9']), [
      delivery,
    ])
    assert.deepEqual(await linesOf(['deliveries', id, '--state', 'dead']), [])
    const table = await runCommand(['webhooks', ...about], { isTTY: true })
    assert.match(
      table.stdout,
      /^ID +EVENT +RECORD +STATE +ATTEMPTS +DUE\nevt_\w+ +record\.recorded +rec_\w+ +delivered +1\n$/,
    )
  })

  await t.test('dead deliveries are listed, and delivered once the receiver works', async () => {
    await app.sql("update tallystick.webhook_deliveries set state = 'dead' where event = 'record.recorded'")
    const [dead] = await linesOf(['deliveries', id, '--state', 'dead'])
    assert.match((await diagnosed()).detail, /has deliveries that were given up: 1$/)
    const before = receiver.received.length
    assert.deepEqual(await linesOf(['redeliver-dead', id, '--since', '2999-01-01T00:00:00Z']), [
      { redelivered: 0 },
    ])
    assert.deepEqual(await linesOf(['redeliver-dead', id]), [{ redelivered: 1 }])
    await until(() => receiver.received.slice(before).some((received) => received.id === dead.id))
  })

  await t.test('recover --delivered sends past events again, under the same ids', async () => {
    const [{ id: event }] = await linesOf(['deliveries', id, '--event', 'record.recorded'])
    const [{ createdAt }] = await linesOf(['list'])
    const before = receiver.received.length
    const [webhook] = await linesOf(['recover', id, '--since', createdAt, '--delivered'])
    assert.equal(webhook.id, id)
    await until(() => receiver.received.slice(before).some((received) => received.id === event))
    await fails(['recover', id, '--since', 'yesterday'], 1, /422 invalid_request.*\/since/)
  })

  await t.test(
    'a receiver that answers 410 disables its webhook; doctor warns, and resume delivers again',
    async () => {
      answerWith(410)
      const failed = await runCommand(['webhooks', 'test', id])
      assert.equal(failed.code, 1)
      assert.match(
        failed.stderr,
        /\(410\)\. What to do: the receiver wants no more events, so the webhook is disabled/,
      )
      await until(async () => (await linesOf(['get', id]))[0].state === 'disabled')
      const warned = await diagnosed()
      assert.match(warned.detail, /has been disabled since 2\S+Z: gone$/)
      assert.equal(warned.advice, `when its receiver works again: tallystick webhooks resume ${id}`)
      answerWith(204)
      assert.equal((await linesOf(['resume', id]))[0].state, 'active')
      assert.equal((await linesOf(['test', id]))[0].state, 'delivered')
    },
  )

  await t.test(
    'a test to a closed port fails with connect_failed; doctor reports no webhooks after delete',
    async () => {
      await linesOf(['update', id, '--url', 'http://127.0.0.1:1/'])
      const failed = await runCommand(['webhooks', 'test', id])
      assert.equal(failed.code, 1)
      assert.match(failed.stderr, /not delivered \(connect_failed\)\. What to do: is the receiver running/)
      await linesOf(['delete', id, '--yes'])
      assert.deepEqual(await diagnosed(), {
        check: 'webhooks',
        status: 'ok',
        detail: 'there are none',
        advice: null,
      })
    },
  )
})

async function diagnosed() {
  const { stdout } = await runCommand(['doctor'])
  const findings = parseLines(stdout).filter(({ check }) => check === 'webhooks')
  assert.equal(findings.length, 1, stdout)
  return findings[0]
}

test('advice on a failed attempt depends on its status or error, also for unknown words', () => {
  const on = (status: number | null, error: string | null = null) =>
    adviceOn({ at: '2026-11-22T12:00:00.000Z', durationMs: 7, status, error, reason: null, excerpt: null })
  assert.match(on(302), /redirects are not followed/)
  assert.match(on(400), /the newest secret/)
  assert.match(on(599), /read the log of the receiver/)
  assert.match(on(null, 'tls_failed'), /certificate/)
  for (const word of ['constructor', '__proto__', 'a word of a newer server', null])
    assert.match(on(null, word), /read the log of the receiver/)
})
