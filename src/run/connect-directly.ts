import { setGlobalProxyFromEnv } from 'node:http'

/**
 * Makes `fetch` and `node:http` of this process ignore NODE_USE_ENV_PROXY and HTTP_PROXY: a proxy would get the operator's key in
 * clear, and cannot reach this machine's loopback. MUST be called before the first request of a server's process.
 */
export function connectDirectly(): void {
  // Without an address Node leaves the proxies of the environment as they are. This one is never used.
  setGlobalProxyFromEnv({
    http_proxy: 'http://127.0.0.1:9',
    https_proxy: 'http://127.0.0.1:9',
    no_proxy: '*',
  })
}
