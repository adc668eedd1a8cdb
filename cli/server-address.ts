import type { ServerAddress } from '../src/verify/server.ts'
import { environment } from './environment.ts'
import { UsageError } from './run.ts'

/** `--server` and the API key of the option or the environment. Throws UsageError; never shows the key. */
export function serverAddress(url: string, apiKeyOption: string | undefined): ServerAddress {
  const parsed = URL.parse(url)
  if (!parsed || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:')) {
    throw new UsageError('--server takes an address that begins with http:// or https://')
  }
  if (parsed.username !== '' || parsed.password !== '') {
    throw new UsageError(
      '--server takes no user name and password; the API key belongs into TALLYSTICK_API_KEY',
    )
  }
  const apiKey = apiKeyOption ?? environment.apiKey() ?? ''
  if (apiKey === '')
    throw new UsageError('--server needs an API key: set TALLYSTICK_API_KEY, or give --api-key')
  if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new UsageError('the API key holds characters that no key has')
  return { url, apiKey }
}
