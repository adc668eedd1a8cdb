import type { Agent, PostKeysAnswer, PostLedgersAnswer } from '../../../sdk/generated/api.ts'
import { post } from '../../helpers/post.ts'
import { startHere } from '../deployment/deployment.ts'

export type PackageServer = {
  readonly url: string
  /** Creates a ledger and returns the environment of a program that uses it. */
  newLedger(): Promise<Record<string, string>>
  close(): Promise<void>
}

export async function startPackageServer(): Promise<PackageServer> {
  const deployment = await startHere()
  const { url, operatorKey } = deployment
  return { url, newLedger: () => newLedger(url, operatorKey), close: () => deployment.stop() }
}

async function newLedger(url: string, operatorKey: string): Promise<Record<string, string>> {
  const { key } = await post<PostLedgersAnswer>(`${url}/v1/ledgers`, operatorKey, { name: 'packed' })
  const performer = await post<Agent>(`${url}/v1/agents`, key.key, { name: 'performer' })
  const scopes = ['records:write', 'records:read:own']
  const request = { name: 'performer', agent: performer.id, scopes }
  const performersKey = await post<PostKeysAnswer>(`${url}/v1/keys`, key.key, request)
  return {
    TALLYSTICK_URL: url,
    TALLYSTICK_API_KEY: key.key,
    PERFORMER: performer.id,
    PERFORMER_KEY: performersKey.key!,
  }
}
