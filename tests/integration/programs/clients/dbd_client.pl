# Perl's DBD::mysql or, as its argument, DBD::MariaDB, with prepared statements
# of the server.
use strict;
use warnings;
use utf8;
use DBI;
use Digest::MD5 qw(md5_hex);
binmode STDOUT, ':encoding(UTF-8)';

my $has = 'System.print(HeapProf.getInstance().has_enable())';
my $driver = shift // 'mysql';
my $own = lc $driver;
my $tcp = "dbi:$driver:;host=127.0.0.1;port=$ENV{HW_PORT}";
my %ways = (
    tcp => $tcp,
    tls => "$tcp;${own}_ssl=1;${own}_ssl_optional=1;${own}_ssl_ca_file=$ENV{HW_CA}",
    socket => "dbi:$driver:;${own}_socket=$ENV{HW_SOCKET}",
);

for my $way (qw(tcp tls socket)) {
    my $link = DBI->connect("$ways{$way};${own}_server_prepare=1", $ENV{HW_USER}, $ENV{HW_PASSWORD},
        { RaiseError => 1, PrintError => 0, $own eq 'mysql' ? (mysql_enable_utf8mb4 => 1) : () });
    if ($way eq 'tls') {
        my (undef, $cipher) = $link->selectrow_array("SHOW STATUS LIKE 'Ssl_cipher'");
        die 'no cipher' unless $cipher;
    }
    print "$way has_enable ", $link->selectrow_array("ADMIN EXECUTE ON 10001 '$has'"), "\n";
    my $script = qq{System.print(HeapProf.getInstance().to_dot_format("$ENV{HW_SNAPSHOT}"))};
    my $dot = join '', map { "$_\n" } @{ $link->selectcol_arrayref("ADMIN EXECUTE ON 10001 '$script'") };
    utf8::encode($dot);
    print "$way dot ", md5_hex($dot), "\n";
    my @row = $link->selectrow_array('SELECT id, ? FROM heapwire.nodes WHERE id = ?', undef, q{ä'"\\}, 10001);
    print "$way parameter @row\n";
    my ($admin) = $link->selectrow_array('ADMIN EXECUTE ON ? ?', undef, 10001, $has);
    print "$way admin $admin\n";
    eval { $link->do("ADMIN EXECUTE ON 10001 'System.print(nonsense)'"); 1 } and die 'a wrong script succeeded';
    print "$way error ", $link->err, "\n";
    print "$way after ", $link->selectrow_array('SELECT 1'), "\n";
    $link->ping or die 'no ping';
    $link->disconnect;
}
