import { setGlobalProxyFromEnv } from 'node:http'

/**
 * Has `fetch` and `node:http` of this process go to no proxy, whatever NODE_USE_ENV_PROXY and HTTP_PROXY say: a proxy would get the
 * operator's key in clear, and cannot reach this machine's loopback. Called where a process of the server begins; MUST come before its
 * first request.
 */
export function connectDirectly(): void {
  // Without an address Node leaves the proxies of the environment as they are. This one is never used.
  setGlobalProxyFromEnv({
    http_proxy: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    no_proxy: '*',
  })
}
