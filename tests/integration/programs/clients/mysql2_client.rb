# Ruby's mysql2, over MariaDB's Connector/C.
require 'digest'
require 'mysql2'

HAS = 'System.print(HeapProf.getInstance().has_enable())'
ACCOUNT = { username: ENV['HW_USER'], password: ENV['HW_PASSWORD'], encoding: 'utf8mb4', as: :array }.freeze
TCP = { host: '127.0.0.1', port: ENV['HW_PORT'].to_i, **ACCOUNT }.freeze
WAYS = {
  'tcp' => TCP,
  'tls' => { **TCP, sslca: ENV['HW_CA'], sslverify: true },
  'socket' => { socket: ENV['HW_SOCKET'], **ACCOUNT }
}.freeze

def prepared(link, sql, *values)
  link.prepare(sql).execute(*values, as: :array).to_a
end

WAYS.each do |way, options|
  link = Mysql2::Client.new(options)
  raise 'no cipher' if way == 'tls' && link.query("SHOW STATUS LIKE 'Ssl_cipher'").first[1].empty?

  puts "#{way} has_enable #{link.query("ADMIN EXECUTE ON 10001 '#{HAS}'").first[0]}"
  script = %(System.print(HeapProf.getInstance().to_dot_format("#{ENV['HW_SNAPSHOT']}")))
  dot = link.query("ADMIN EXECUTE ON 10001 '#{script}'", stream: true, cache_rows: false)
  puts "#{way} dot #{Digest::MD5.hexdigest(dot.map { |row| "#{row[0]}\n" }.join)}"
  row = prepared(link, 'SELECT id, ? FROM heapwire.nodes WHERE id = ?', %(ä'"\\), 10_001)[0]
  puts "#{way} parameter #{row.join(' ')}"
  puts "#{way} admin #{prepared(link, 'ADMIN EXECUTE ON ? ?', 10_001, HAS)[0][0]}"
  begin
    link.query("ADMIN EXECUTE ON 10001 'System.print(nonsense)'")
    raise 'a wrong script succeeded'
  rescue Mysql2::Error => e
    puts "#{way} error #{e.error_number}"
  end
  puts "#{way} after #{link.query('SELECT 1').first[0]}"
  raise 'no ping' unless link.ping

  link.close
end
