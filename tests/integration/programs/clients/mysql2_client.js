// node's mysql2: query() puts values into the text, execute() prepares.
const crypto = require('crypto')
const fs = require('fs')
const mysql = require('mysql2/promise')

const env = process.env
const HAS = 'System.print(HeapProf.getInstance().has_enable())'
const account = { user: env.HW_USER, password: env.HW_PASSWORD, charset: 'utf8mb4' }
const tcp = { host: '127.0.0.1', port: Number(env.HW_PORT), ...account }
const tls = { ca: fs.readFileSync(env.HW_CA), checkServerIdentity: () => undefined }
const ways = {
  tcp,
  tls: { ...tcp, ssl: tls },
  socket: { socketPath: env.HW_SOCKET, ...account }
}

async function run (way, options) {
  const connection = await mysql.createConnection({ ...options, rowsAsArray: true })
  const query = async (sql, values) => (await connection.query(sql, values))[0]
  const execute = async (sql, values) => (await connection.execute(sql, values))[0]
  if (way === 'tls' && !(await query("SHOW STATUS LIKE 'Ssl_cipher'"))[0][1]) throw new Error('no cipher')
  console.log(way, 'has_enable', (await query(`ADMIN EXECUTE ON 10001 '${HAS}'`))[0][0])
  const script = `System.print(HeapProf.getInstance().to_dot_format("${env.HW_SNAPSHOT}"))`
  const dot = (await execute(`ADMIN EXECUTE ON 10001 '${script}'`)).map(row => row[0] + '\n').join('')
  console.log(way, 'dot', crypto.createHash('md5').update(dot).digest('hex'))
  const select = 'SELECT id, ? FROM heapwire.nodes WHERE id = ?'
  const typed = await execute(select, ['ä\'"\\', 10001])
  const plain = await query(select, ['ä\'"\\', 10001])
  if (typed[0].join() !== plain[0].join()) throw new Error(`${typed[0]} is not ${plain[0]}`)
  console.log(way, 'parameter', ...typed[0])
  console.log(way, 'admin', (await execute('ADMIN EXECUTE ON ? ?', [10001, HAS]))[0][0])
  try {
    await query("ADMIN EXECUTE ON 10001 'System.print(nonsense)'")
    throw new Error('a wrong script succeeded')
  } catch (error) {
    if (!error.errno) throw error
    console.log(way, 'error', error.errno)
  }
  console.log(way, 'after', (await execute('SELECT 1'))[0][0])
  await connection.ping()
  await connection.end()
}

async function main () {
  for (const [way, options] of Object.entries(ways)) await run(way, options)
}
main().catch(error => { console.error(error); process.exit(1) })
