import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { parseTokenRequest } from '../../src/db/connect/token-request.ts'
import { bareEnvironment } from '../helpers/bare-environment.ts'

const HOST = 'ledgers.cluster-abc.eu-central-1.rds.amazonaws.com'
const SECRET = 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY'

test('a token is an AWS-signed request for the host and login, valid for 15 minutes', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ['src/run/command.ts', 'rds-token'], {
    env: {
      ...bareEnvironment(),
      TALLYSTICK_API_DATABASE_URL: `postgres://tallystick_api@${HOST}/ledgers`,
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: SECRET,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
  })
  assert.match(stdout, /^[^\n]+\n$/)
  const token = new URL(`https://${stdout.trim()}`)
  assert.equal(token.host, `${HOST}:5432`)
  const { searchParams: query } = token
  assert.equal(query.get('Action'), 'connect')
  assert.equal(query.get('DBUser'), 'tallystick_api')
  assert.equal(query.get('X-Amz-Expires'), '900')
  assert.equal(query.get('X-Amz-Signature'), signatureOf(token))
})

/** Computes AWS Signature Version 4, "Authenticating requests: using query parameters", from the specification. */
function signatureOf(url: URL): string {
  const query = [...url.searchParams].filter(([name]) => name !== 'X-Amz-Signature')
  const encoded = query.map((pair) => pair.map(encodeURIComponent).join('=')).sort()
  const request = ['GET', '/', encoded.join('&'), `host:${url.host}`, '', 'host', sha256('')].join('\n')
  const time = url.searchParams.get('X-Amz-Date')!
  const scope = url.searchParams.get('X-Amz-Credential')!.split('/').slice(1)
  const text = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(request)].join('\n')
  const key = scope.reduce<Buffer | string>((key, part) => hmac(key, part), `AWS4${SECRET}`)
  return hmac(key, text).toString('hex')
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest()

test('login comes from PG variables or the only URL, and region from AWS_REGION or the host', () => {
  const login = { PGHOST: HOST, PGPORT: '6432', PGUSER: 'tallystick_worker' }
  const expected = { host: HOST, port: 6432, user: 'tallystick_worker', region: 'eu-central-1' }
  assert.deepEqual(parseTokenRequest(login), expected)
  assert.equal(parseTokenRequest({ ...login, AWS_REGION: 'eu-west-1' }).region, 'eu-west-1')
  const urls = { DATABASE_URL: `postgres://owner@${HOST}:6432/x` }
  assert.deepEqual(parseTokenRequest(urls), { ...expected, user: 'owner' })
  const chinese = { ...login, PGHOST: 'db.cn-north-1.rds.amazonaws.com.cn' }
  assert.equal(parseTokenRequest(chinese).region, 'cn-north-1')
})

test('a missing login or region is refused with the variables to set', () => {
  assert.throws(() => parseTokenRequest({}), /no login is named: set PGHOST and PGUSER, or one of/)
  assert.throws(() => parseTokenRequest({ PGHOST: HOST }), /set PGUSER/)
  assert.throws(() => parseTokenRequest({ PGHOST: 'db.example', PGUSER: 'api' }), /set AWS_REGION/)
  const two = { DATABASE_URL: 'postgres://a@b/c', TALLYSTICK_API_DATABASE_URL: 'postgres://a@b/c' }
  assert.throws(() => parseTokenRequest(two), /TALLYSTICK_API_DATABASE_URL and DATABASE_URL are both set/)
})
