import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { findConnection } from '../../cli/connection.ts'
import { runCommand } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'

const KEY = 'tly_secret'
const URL_KEPT = 'http://127.0.0.1:1'

/** Changes into a new folder with an empty environment. */
function standIn(t: TestContext): {
  folder: string
  keep(path: string, content?: unknown, mode?: number): string
} {
  const folder = temporaryFiles(t).directory
  const before = process.cwd()
  process.chdir(folder)
  t.after(() => process.chdir(before))
  for (const name of ['TALLYSTICK_URL', 'TALLYSTICK_API_KEY', 'TALLYSTICK_DATA']) delete process.env[name]
  process.env['XDG_CONFIG_HOME'] = join(folder, 'config')
  return {
    folder,
    keep(path, content = { url: URL_KEPT, key: KEY, ledger: 'led_x', agent: 'agt_x' }, mode = 0o600) {
      const file = join(folder, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
      chmodSync(file, mode)
      return file
    },
  }
}

test('finds the credentials of `npm start` from its folder, a subfolder, and TALLYSTICK_DATA', async (t) => {
  const { folder, keep } = standIn(t)
  const file = keep('.tallystick/credentials.json')
  const found = { url: URL_KEPT, apiKey: KEY, origin: file }
  assert.deepEqual(await findConnection({}), found)
  mkdirSync(join(folder, 'a/b'), { recursive: true })
  process.chdir(join(folder, 'a/b'))
  assert.deepEqual(await findConnection({}), found)
  const data = keep('data/credentials.json', { url: 'http://127.0.0.1:2', key: 'tly_data' })
  process.env['TALLYSTICK_DATA'] = dirname(data)
  assert.equal((await findConnection({})).origin, data)
  // Credentials of `tallystick init` take precedence over both files of `npm start`.
  const own = keep('config/tallystick/credentials.json', { url: 'http://127.0.0.1:3', key: 'tly_own' })
  assert.equal((await findConnection({})).origin, own)
})

test('options take precedence over the environment, the environment over files', async (t) => {
  const { keep } = standIn(t)
  keep('.tallystick/credentials.json')
  Object.assign(process.env, { TALLYSTICK_URL: 'http://127.0.0.1:4', TALLYSTICK_API_KEY: 'tly_env' })
  const origin = 'options and environment'
  assert.deepEqual(await findConnection({}), { url: 'http://127.0.0.1:4', apiKey: 'tly_env', origin })
  const options = { server: 'http://127.0.0.1:5', 'api-key': 'tly_option' }
  assert.deepEqual(await findConnection(options), { url: options.server, apiKey: 'tly_option', origin })
})

test('a kept key is sent to no server but its own', async (t) => {
  const { keep } = standIn(t)
  const file = keep('.tallystick/credentials.json')
  for (const server of [
    'http://127.0.0.1:2',
    'https://127.0.0.1:1',
    'http://127.0.0.1:1/elsewhere',
    'http://localhost:1',
  ]) {
    await assert.rejects(findConnection({ server }), (error: Error) => {
      assert.match(error.message, /no API key: .* which is not sent to another server/)
      assert.ok(error.message.includes(file) && !error.message.includes(KEY))
      return true
    })
    process.env['TALLYSTICK_URL'] = server
    await assert.rejects(findConnection({}), /not sent to another server/)
    delete process.env['TALLYSTICK_URL']
  }
  assert.equal((await findConnection({ server: `${URL_KEPT}/` })).apiKey, KEY)
})

test('a damaged or world-readable credentials file is refused; without a file, the error explains what to do', async (t) => {
  const { keep } = standIn(t)
  const none = await runCommand(['get', 'rec_x'])
  assert.equal(none.code, 64)
  assert.match(
    none.stderr,
    /set TALLYSTICK_API_KEY, run `tallystick init`, or work in the folder in which you ran `npm start`/,
  )
  for (const mode of [0o644, 0o640, 0o606, 0o660]) {
    const file = keep('.tallystick/credentials.json', undefined, mode)
    const refused = await runCommand(['get', 'rec_x'])
    assert.deepEqual(
      [refused.code, refused.stderr],
      [
        77,
        `tallystick: ${file} must belong to this user and be closed to others: chmod 600 it, or remove it\n`,
      ],
    )
  }
  for (const content of ['{', '[]', 'null', { url: URL_KEPT }, { url: 7, key: KEY }]) {
    keep('.tallystick/credentials.json', content)
    const refused = await runCommand(['get', 'rec_x'])
    assert.equal(refused.code, 74)
    assert.match(refused.stderr, /credentials.json is damaged: repair it/)
  }
})
