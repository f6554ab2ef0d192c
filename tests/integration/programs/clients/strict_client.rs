// sqlx and mysql_async, which ask what type a column has before they hand it
// out.  Arguments: the server's URL, a file with a statement a line; what has
// a ? is only prepared, with an integer and with a decimal.
use mysql_async::prelude::Queryable;
use sqlx::types::{BigDecimal, Decimal};
use sqlx::{Column, Connection, Executor, Row, TypeInfo};
use std::fmt::{Debug, Display};

const INTEGER: i64 = 3;

fn say<T: Debug, E: Display>(kind: &str, result: Result<T, E>) {
    match result {
        Ok(value) => println!("    {kind}: {value:?}"),
        Err(error) => println!("    {kind}: {error}"),
    }
}

// Each of the types: $get!(type) is a Result.
macro_rules! say_each {
    ($get:ident) => {
        say("Decimal", $get!(Decimal));
        say("BigDecimal", $get!(BigDecimal));
        say("i64", $get!(i64));
        say("u64", $get!(u64));
        say("f64", $get!(f64));
        say("String", $get!(String));
    };
}

fn say_sqlx(way: &str, row: Result<sqlx::mysql::MySqlRow, sqlx::Error>) {
    let row = match row {
        Ok(row) => row,
        Err(error) => return println!("  sqlx {way}: {error}"),
    };
    println!("  sqlx {way}: {}", row.column(0).type_info().name());
    macro_rules! get {
        ($t:ty) => {
            row.try_get::<Option<$t>, _>(0)
        };
    }
    say_each!(get);
}

fn say_async(way: &str, row: mysql_async::Result<Option<mysql_async::Row>>) {
    let row = match row {
        Ok(row) => row.expect("a row"),
        Err(error) => return println!("  mysql_async {way}: {error}"),
    };
    println!(
        "  mysql_async {way}: {:?}",
        row.columns_ref()[0].column_type()
    );
    macro_rules! get {
        ($t:ty) => {
            mysql_async::from_value_opt::<Option<$t>>(row[0].clone())
        };
    }
    say_each!(get);
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().collect();
    let decimal = Decimal::new(25, 2);
    let mut sqlx = sqlx::MySqlConnection::connect(&arguments[1]).await?;
    let mut other = mysql_async::Conn::from_url(&arguments[1]).await?;
    for line in std::fs::read_to_string(&arguments[2])?.lines() {
        println!("{line}");
        match (&mut sqlx).describe(line).await {
            Ok(found) => println!("  sqlx macros: {}", found.columns[0].type_info().name()),
            Err(error) => println!("  sqlx macros: {error}"),
        }
        if line.contains('?') {
            say_sqlx(
                "integer",
                sqlx::query(line).bind(INTEGER).fetch_one(&mut sqlx).await,
            );
            say_sqlx(
                "decimal",
                sqlx::query(line).bind(decimal).fetch_one(&mut sqlx).await,
            );
            say_async("integer", other.exec_first(line, (INTEGER,)).await);
            say_async("decimal", other.exec_first(line, (decimal,)).await);
        } else {
            say_sqlx("text", (&mut sqlx).fetch_one(line).await);
            say_sqlx("binary", sqlx::query(line).fetch_one(&mut sqlx).await);
            say_async("text", other.query_first(line).await);
            say_async("binary", other.exec_first(line, ()).await);
        }
    }
    Ok(())
}
